// Megatron-LM (megatron/training/checkpointing.py, save_checkpoint): folder iter_0000123 (or release, which
// is no step), and when all ranks are done (of an asynchronous save: when it is finalized) the file
// latest_checkpointed_iteration.txt with "123", opened to be written anew. Iteration N has done N steps. An
// older folder may be one that was interrupted: only the one the file names is known to be complete.
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
    // The time first: what is written in between is seen the next time.
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
    // A folder that is younger than the file is a save over an old one of the same number.
    if (named_ns != 0 && named_ns >= seen.begin_ns) seen.complete_ns = seen.written_ns = named_ns;
    place.Found(std::move(seen));
  }
}

}  // namespace goodput
