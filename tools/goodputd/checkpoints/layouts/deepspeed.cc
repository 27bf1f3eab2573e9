// DeepSpeed (deepspeed/runtime/engine.py, save_checkpoint): folder TAG, by default global_stepN, filled by
// all ranks; then the file `latest` with the tag. N steps are done; the number of a custom tag is the one
// after "step" at its end. Recognized by the name global_stepN, or because `latest` names it; only the latter
// is known to be complete.
#include "absl/strings/ascii.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {

void FindDeepSpeed(Place& place) {
  std::string tag;
  std::optional<FileTimes> latest;
  if (place.Has("latest")) {
    latest = place.folder().Times("latest");
    if (const auto text = place.folder().Read("latest")) tag = std::string(absl::StripAsciiWhitespace(*text));
  }
  for (const FolderEntry& entry : place.Free()) {
    auto step = NumberAfter(entry.name, "global_step");
    const bool named = latest && entry.name == tag;
    if (!entry.is_folder || (!step && !named)) continue;
    if (!step) step = NumberOf(entry.name, "step");
    const auto times = place.folder().Times(entry.name);
    if (!times) continue;
    place.Take(entry.name);
    const std::int64_t named_ns = named ? latest->written_ns : 0;
    CheckpointSeen seen = place.Begun("deepspeed", entry.name, step, *times, named_ns);
    if (named && named_ns >= seen.begin_ns) seen.complete_ns = seen.written_ns = named_ns;
    place.Found(std::move(seen));
  }
}

}  // namespace goodput
