// Hugging Face transformers (trainer.py, _save_checkpoint): folder checkpoint-N, filled in the order of
// model, optimizer, random states, and trainer_state.json last (trainer_callback.py, save_to_json: indented,
// ends with a single write). Releases around 4.37 filled tmp-checkpoint-N and renamed it. A just-in-time
// checkpoint (trainer_jit_checkpoint.py) is incomplete while it has checkpoint-is-incomplete.txt. N steps are
// done. Files of a backend inside it (DeepSpeed's global_stepN with its own `latest`) are part of it.
#include <simdjson.h>

#include <algorithm>

#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kState = "trainer_state.json";
constexpr const char* kIncomplete = "checkpoint-is-incomplete.txt";

// In the format of transformers, only the outermost brace is at the beginning of a line. Others write
// everything on one line; a small file shows itself whether it is complete.
bool IsWholeState(const FolderView& folder) {
  const auto tail = folder.Tail(kState, 3);
  if (!tail || tail->find('}') == std::string::npos) return false;
  if (*tail == "\n}\n") return true;
  const auto text = folder.Read(kState);
  if (!text) return false;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(*text);
  simdjson::dom::object object;
  return parser.parse(padded).get(object) == simdjson::SUCCESS;
}

}  // namespace

void FindHuggingFace(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (!entry.is_folder) continue;
    auto step = NumberAfter(entry.name, "checkpoint-");
    const bool temporary = !step;
    if (temporary) step = NumberAfter(entry.name, "tmp-checkpoint-");
    if (!step) continue;
    const std::string name = temporary ? entry.name.substr(4) : entry.name;
    // Both exist: the one that blocks the rename is old.
    if (!temporary && place.Has("tmp-" + name)) {
      place.Take(entry.name);
      continue;
    }
    const auto times = place.folder().Times(entry.name);
    const auto inside = place.Inside(entry.name);
    if (!times || !inside) continue;
    place.Take(entry.name);
    const auto state = inside->Times(kState);
    const std::int64_t state_ns = state ? state->written_ns : 0;
    if (place.IsOld(*times, state_ns)) continue;
    CheckpointSeen seen = place.Begun("huggingface", entry.name, *step, *times, state_ns);
    seen.name = name;
    if (!temporary && state && state_ns >= seen.begin_ns && !inside->Times(kIncomplete)) {
      if (IsWholeState(*inside)) {
        seen.written_ns = state_ns;
        // A rename and the removal of the sentinel change the folder; so does the removal of an earlier
        // attempt's checkpoint.
        const bool fresh = times->born_ns >= place.since_ns();
        seen.complete_ns = fresh ? std::max(state_ns, times->changed_ns) : state_ns;
      }
    }
    place.Found(std::move(seen), inside.get());
  }
}

}  // namespace goodput
