// PyTorch Lightning (pytorch/callbacks/model_checkpoint.py, fabric/utilities/cloud_io.py, _atomic_save): file
// NAME.ckpt, last.ckpt or hpc_ckpt_N.ckpt, written to a temporary folder and moved here: renamed on the same
// file system, otherwise copied. Only the file itself shows whether a copy is complete: it is a zip archive
// with its directory at the end. With FSDP (fabric/strategies/fsdp.py), NAME.ckpt is a folder of PyTorch's
// distributed files, and meta.pt is written last; with DeepSpeed, one of DeepSpeed's, with tag "checkpoint".
//
// "step=N" in a name is the number of steps done; last.ckpt has none, and N of hpc_ckpt_N is not a step. A
// moved file is complete at its last change; the time of its content is that of the temporary file.
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
  if (place.IsOld(*times, times->changed_ns)) return;
  CheckpointSeen seen = place.Begun("lightning", name, NumberOf(name, "step="), *times, times->changed_ns);
  if (IsWholeZip(place.folder(), name, times->size))
    seen.complete_ns = std::max(times->changed_ns, seen.begin_ns);
  place.Found(std::move(seen));
}

void AddLightningFolder(Place& place, const std::string& name) {
  const auto times = place.folder().Times(name);
  const auto inside = place.Inside(name);
  if (!times || !inside) return;
  place.Take(name);
  const auto meta = inside->Times("meta.pt");
  const auto latest = meta ? std::nullopt : inside->Times("latest");
  const std::int64_t last_ns = meta ? meta->changed_ns : latest ? latest->changed_ns : 0;
  if (place.IsOld(*times, last_ns)) return;
  CheckpointSeen seen = place.Begun("lightning", name, NumberOf(name, "step="), *times, last_ns);
  bool whole = false;
  if (meta) {
    whole = inside->Times(".metadata") && IsWholeZip(*inside, "meta.pt", meta->size);
  } else if (latest && inside->Times("checkpoint")) {
    const auto tag = inside->Read("latest");
    whole = tag && absl::StripAsciiWhitespace(*tag) == "checkpoint";
  }
  if (whole && last_ns >= seen.begin_ns) {
    seen.complete_ns = last_ns;
    seen.written_ns = meta ? meta->written_ns : latest->written_ns;
  }
  place.Found(std::move(seen), inside.get());
}

}  // namespace

void FindLightning(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (!absl::EndsWith(entry.name, ".ckpt")) continue;
    if (entry.is_folder) {
      AddLightningFolder(place, entry.name);
    } else {
      AddFile(place, entry.name);
    }
  }
}

}  // namespace goodput
