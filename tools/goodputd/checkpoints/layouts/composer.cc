// MosaicML Composer (composer/callbacks/checkpoint_saver.py, composer/utils/checkpoint.py): file
// epE-baB-rankR.pt, written in place by torch.save (complete when the archive is), one of rank 0; with
// sharding, folder epE-baB with PyTorch's distributed files. B batches, that is steps, are done.
// latest-rankR.pt is a link and not followed.
#include <algorithm>

#include "absl/strings/match.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {

void FindComposer(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    const std::string& name = entry.name;
    const auto step = NumberOf(name, "-ba");
    if (!absl::StartsWith(name, "ep") || !step) continue;
    if (entry.is_folder || !absl::EndsWith(name, ".pt")) continue;
    const auto times = place.folder().Times(name);
    if (!times) continue;
    place.Take(name);
    if (NumberOf(name, "-rank").value_or(0) != 0) continue;  // part of rank 0's checkpoint
    if (place.IsOld(*times)) continue;
    CheckpointSeen seen = place.Begun("composer", name, *step, *times);
    if (IsWholeZip(place.folder(), name, times->size))
      seen.complete_ns = std::max(times->written_ns, seen.begin_ns);
    place.Found(std::move(seen));
  }
}

}  // namespace goodput
