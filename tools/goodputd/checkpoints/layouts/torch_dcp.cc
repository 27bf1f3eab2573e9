// PyTorch's distributed checkpoints, as written by torchtitan and others
// (torch/distributed/checkpoint/filesystem.py, FileSystemWriter): any folder with files __RANK_N.distcp.
// .metadata comes last, once every rank is done: renamed from .metadata.tmp, or in releases before 2.3
// written in place (a pickle, which ends with a full stop). If an older checkpoint is overwritten, its
// .metadata stays until the rename and is then older than the data. The name has the number of steps done:
// step-N (torchtitan), step_N, ep0-baN and the like.
#include <algorithm>

#include "absl/strings/match.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kMetadata = ".metadata";
constexpr const char* kTemporary = ".metadata.tmp";
constexpr int kSomeShards = 8;
constexpr std::size_t kMaxShards = 512;
// Some file systems use the times of the writing machines, whose clocks differ.
constexpr std::int64_t kClockSlackNs = 1'000'000'000;

bool IsShard(const FolderEntry& entry) {
  return !entry.is_folder && absl::StartsWith(entry.name, "__") && absl::EndsWith(entry.name, ".distcp");
}

bool IsDcp(const FolderView& folder) {
  const auto& entries = folder.Entries();
  return HasEntry(folder, kMetadata) || HasEntry(folder, kTemporary) ||
         std::any_of(entries.begin(), entries.end(), IsShard);
}

std::optional<std::int64_t> StepOf(const std::string& name) {
  for (const char* key : {"step-", "step_", "step=", "step", "-ba", "iter_", "iter-"}) {
    if (const auto step = NumberOf(name, key)) return step;
  }
  return WholeNumber(name);
}

// When its data was written: checks some shards, since ranks write at the same time and may be thousands.
std::int64_t DataWritten(const FolderView& folder) {
  std::int64_t last = 0;
  for (int rank = 0; rank < kSomeShards; ++rank) {
    const auto times = folder.Times(Cat("__", rank, "_0.distcp"));
    if (times) last = std::max(last, times->written_ns);
  }
  return last;
}

void Complete(const FolderView& folder, const FileTimes& metadata, CheckpointSeen& seen) {
  if (metadata.changed_ns < seen.begin_ns || folder.Times(kTemporary) ||
      !IsWholePickle(folder, kMetadata, metadata.size) ||
      metadata.written_ns + kClockSlackNs < DataWritten(folder))
    return;
  // The rename that completes it changes the file.
  seen.complete_ns = metadata.changed_ns;
  seen.written_ns = metadata.written_ns;
}

}  // namespace

void FindTorchDcp(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (!entry.is_folder) continue;
    const auto inside = place.Inside(entry.name);
    if (!inside) continue;
    const auto metadata = inside->Times(kMetadata);
    if (!metadata && !IsDcp(*inside)) continue;
    const auto times = place.folder().Times(entry.name);
    if (!times) continue;
    place.Take(entry.name);
    const std::int64_t last_ns = metadata ? metadata->changed_ns : 0;
    if (place.IsOld(*times, last_ns)) continue;
    CheckpointSeen seen = place.Begun("torch-dcp", entry.name, StepOf(entry.name), *times, last_ns);
    if (metadata) Complete(*inside, *metadata, seen);
    place.Found(std::move(seen), inside.get());
  }
}

bool FindTorchDcpItself(Place& place) {
  const FolderView& folder = place.folder();
  if (!IsDcp(folder)) return false;
  std::optional<std::int64_t> begin;
  CheckpointSeen seen{"torch-dcp", ".", std::nullopt, 0, std::nullopt, 0, 0};
  std::size_t left = kMaxShards;
  for (const FolderEntry& entry : folder.Entries()) {
    if (!IsShard(entry) || left-- == 0) continue;
    const auto times = folder.Times(entry.name);
    if (!times) continue;
    // Written in place: only the last write of the first shard is recorded, not when this save began it.
    const std::int64_t t_ns = times->born_ns >= place.since_ns() ? times->born_ns : times->written_ns;
    if (t_ns >= place.since_ns() && (!begin || t_ns < *begin)) begin = t_ns;
    seen.written_ns = std::max(seen.written_ns, times->written_ns);
  }
  seen.begin_ns = begin.value_or(0);
  if (const auto metadata = folder.Times(kMetadata)) Complete(folder, *metadata, seen);
  place.Found(std::move(seen));
  return true;
}

}  // namespace goodput
