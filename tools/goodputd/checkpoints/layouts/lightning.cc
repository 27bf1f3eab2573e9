// PyTorch Lightning (pytorch/callbacks/model_checkpoint.py, fabric/utilities/cloud_io.py, _atomic_save): file
// NAME.ckpt, last.ckpt or hpc_ckpt_N.ckpt, written in the temporary folder and moved here: renamed where that
// is the same file system, copied where not. Nothing says that a copy is whole but the file itself, a zip
// archive whose directory comes last. With FSDP (fabric/strategies/fsdp.py) NAME.ckpt is a folder of
// PyTorch's distributed files, and meta.pt is written last; with DeepSpeed one of DeepSpeed's, tagged
// "checkpoint".
//
// "step=N" in a name is the number of steps done; last.ckpt has none, and N of hpc_ckpt_N is no step. A file
// that was moved is done when it was changed last: its content's time is that of the temporary one.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

void AddFile(Place& place, const std::string& name) {
  const auto times = place.folder().Times(name);
  if (!times) return;
  place.Take(name);
  CheckpointSeen seen{"lightning",  name,      NumberOf(name, "step="), place.BeginOf(name, *times),
                      std::nullopt, times->id, times->written_ns};
  if (IsWholeZip(place.folder(), name, times->size))
    seen.complete_ns = std::max(times->changed_ns, seen.begin_ns);
  place.Found(std::move(seen));
}

void AddFolder(Place& place, const std::string& name) {
  const auto times = place.folder().Times(name);
  const auto inside = place.Inside(name);
  if (!times || !inside) return;
  place.Take(name);
  CheckpointSeen seen{"lightning",  name,      NumberOf(name, "step="), place.BeginOf(name, *times),
                      std::nullopt, times->id, times->written_ns};
  const auto completes = [&](const std::string& last) {
    const auto done = inside->Times(last);
    if (!done || done->changed_ns < seen.begin_ns) return;
    seen.complete_ns = done->changed_ns;
    seen.written_ns = done->written_ns;
  };
  if (HasEntry(*inside, "meta.pt")) {
    const auto meta = inside->Times("meta.pt");
    if (meta && HasEntry(*inside, ".metadata") && IsWholeZip(*inside, "meta.pt", meta->size))
      completes("meta.pt");
  } else if (HasEntry(*inside, "latest") && HasEntry(*inside, "checkpoint")) {
    const auto tag = inside->Read("latest");
    if (tag && absl::StripAsciiWhitespace(*tag) == "checkpoint") completes("latest");
  }
  place.Found(std::move(seen));
}

}  // namespace

void FindLightning(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (!absl::EndsWith(entry.name, ".ckpt")) continue;
    if (entry.is_folder) {
      AddFolder(place, entry.name);
    } else {
      AddFile(place, entry.name);
    }
  }
}

}  // namespace goodput
