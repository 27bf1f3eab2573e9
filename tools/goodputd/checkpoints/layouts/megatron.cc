// Megatron-LM (megatron/training/checkpointing.py, save_checkpoint): folder iter_0000123 (or release, which
// is not a step), and when all ranks are done (for an asynchronous save: when it is finalized) the file
// latest_checkpointed_iteration.txt with "123", rewritten in place. Iteration N has done N steps. An older
// folder may be incomplete: only the one that the file names is known to be complete.
#include "absl/strings/ascii.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kTracker = "latest_checkpointed_iteration.txt";

}  // namespace

void FindMegatron(Place& place) {
  std::optional<std::int64_t> latest;
  std::optional<FileTimes> tracker;
  if (place.Has(kTracker)) {
    // Reads the time first: a write in between is seen at the next look.
    tracker = place.folder().Times(kTracker);
    if (const auto text = place.folder().Read(kTracker)) {
      const absl::string_view number = absl::StripAsciiWhitespace(*text);
      latest = WholeNumber({number.data(), number.size()});
    }
  }
  for (const FolderEntry& entry : place.Free()) {
    const auto iteration = NumberAfter(entry.name, "iter_");
    if (!entry.is_folder || !iteration) continue;
    const auto times = place.folder().Times(entry.name);
    if (!times) continue;
    place.Take(entry.name);
    const std::int64_t named_ns = tracker && latest == iteration ? tracker->written_ns : 0;
    CheckpointSeen seen = place.Begun("megatron", entry.name, *iteration, *times, named_ns);
    // A folder younger than the file is a new save over an old one with the same number.
    if (named_ns != 0 && named_ns >= seen.begin_ns) seen.complete_ns = seen.written_ns = named_ns;
    place.Found(std::move(seen));
  }
}

}  // namespace goodput
