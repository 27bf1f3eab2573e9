// Megatron-LM (megatron/training/checkpointing.py, save_checkpoint): folder iter_0000123 (or release, which
// is not a step), and when all ranks are done (for an asynchronous save: when it is finalized) the file
// latest_checkpointed_iteration.txt with "123", rewritten in place. Iteration N has done N steps.
//
// The folder that the file names is complete. An older one may be incomplete; with format torch_dist it is
// complete if it has metadata.json, which is written just before latest_checkpointed_iteration.txt
// (megatron/core/dist_checkpointing/serialization.py, save). Of format torch nothing shows it.
#include "absl/strings/ascii.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kTracker = "latest_checkpointed_iteration.txt";
constexpr const char* kMegatronMetadata = "metadata.json";

// When the folder of an iteration older than the tracker's was complete.
std::optional<std::int64_t> OlderComplete(Place& place, const CheckpointSeen& seen, const std::string& name,
                                          std::int64_t tracker_ns) {
  const auto inside = place.Inside(name);
  const auto metadata = inside != nullptr ? inside->Times(kMegatronMetadata) : std::nullopt;
  // Older than the begin: of the checkpoint that is being replaced.
  if (!metadata || metadata->written_ns < seen.begin_ns || metadata->written_ns > tracker_ns) return {};
  return metadata->written_ns;
}

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
    if (latest && *iteration < *latest && !place.IsOld(*times)) {
      seen.complete_ns = OlderComplete(place, seen, entry.name, tracker->written_ns);
      if (seen.complete_ns) seen.written_ns = *seen.complete_ns;
    }
    place.Found(std::move(seen));
  }
}

}  // namespace goodput
