// NeMo 2, and NeMo 1 with distributed checkpoints (nemo/lightning/pytorch/callbacks/model_checkpoint.py,
// nemo/lightning/io/pl.py): the file NAME-unfinished is created first and removed last; in between, folder
// NAME gets weights/ (distributed) and context/. In NeMo 1 the files are in NAME itself, or NAME.ckpt is a
// file. The same marker exists while a checkpoint is removed; then the folder is older than the marker.
// NAME-last is a link to the newest checkpoint (not followed), or another save. Only the directory's own time
// shows when a marker was removed, so the time of completion is that of the last file.
//
// The step in a name of NeMo 2 is the metric "step", logged before the step was done: N + 1 steps are done.
// NeMo 1 logs none, and the name has Lightning's own number of steps done.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kMarker = "-unfinished";
constexpr std::size_t kMaxContext = 16;

// When the files that are written late were written: of a thousand shards, any one will do.
std::int64_t LastWritten(const FolderView& folder, bool second) {
  std::int64_t last = 0;
  const auto see = [&last](const FolderView& place, const std::string& name) {
    const auto times = place.Times(name);
    if (times) last = std::max({last, times->written_ns, times->born_ns});
  };
  const auto data = second ? folder.Open("weights") : nullptr;
  for (const char* name : {"common.pt", ".metadata", "metadata.json"}) see(data ? *data : folder, name);
  if (const auto context = second ? folder.Open("context") : nullptr) {
    std::size_t left = kMaxContext;
    for (const FolderEntry& entry : context->Entries()) {
      if (left-- == 0) break;
      see(*context, entry.name);
    }
  }
  return last;
}

bool IsSecond(const FolderView& folder) {
  return folder.Times("weights") || folder.Times("context");
}

// Whether all of its data is there.
bool IsWhole(const FolderView& folder, bool second) {
  if (!second) return folder.Times("common.pt") && folder.Times("metadata.json");
  const auto data = folder.Open("weights");
  return data != nullptr && (data->Times("metadata.json") || data->Times(".metadata"));
}

void AddNemoFolder(Place& place, const std::string& name) {
  const auto inside = place.Inside(name);
  if (!inside) return;
  const bool second = IsSecond(*inside);
  // Without a marker it is complete, or something else: other programs use such names too.
  if (!IsWhole(*inside, second)) return;
  if (second && !inside->Times("context") && !absl::StrContains(name, '=')) return;
  const auto times = place.folder().Times(name);
  if (!times) return;
  place.Take(name);
  const std::int64_t last_ns = LastWritten(*inside, second);
  if (place.IsOld(*times, last_ns)) return;
  auto step = NumberOf(name, "step=");
  if (step && second) ++*step;
  CheckpointSeen seen = place.Begun("nemo", name, step, *times, last_ns);
  // The listing may be older than its marker.
  if (!place.folder().Times(name + kMarker))
    seen.complete_ns = seen.written_ns = std::max(last_ns, seen.begin_ns);
  place.Found(std::move(seen), inside.get());
}

// For a marker: the save in progress.
void AddUnfinished(Place& place, const std::string& marker_name, const std::string& folder) {
  const auto marker = place.folder().Times(marker_name);
  if (!marker) return;
  place.Take(marker_name);
  const std::string file = folder + ".ckpt";
  for (const std::string& taken : {folder, file, folder + "-EMA.ckpt"}) place.Take(taken);
  const auto inside = place.Inside(folder);
  const auto times = place.folder().Times(inside ? folder : file);
  // A marker alone is the first step of a save, or the last of a removal; what follows tells.
  if (!times) return;
  const bool second = inside && IsSecond(*inside);
  const std::int64_t last_ns = inside ? LastWritten(*inside, second) : times->written_ns;
  // A folder older than its marker, with nothing newer in it, is being removed.
  if (times->born_ns < marker->born_ns && last_ns < marker->born_ns) return;
  auto step = NumberOf(folder, "step=");
  // A folder that is still empty belongs to NeMo 2.
  if (step && inside && (second || !inside->Times("common.pt"))) ++*step;
  place.Found({"nemo", inside ? folder : file, step, marker->born_ns, std::nullopt, times->id,
               std::max(last_ns, marker->born_ns)});
}

}  // namespace

void FindNemo(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    absl::string_view name = entry.name;
    if (entry.is_folder) {
      if (!place.Has(entry.name + kMarker)) AddNemoFolder(place, entry.name);
    } else if (absl::ConsumeSuffix(&name, kMarker) && !name.empty()) {
      AddUnfinished(place, entry.name, std::string(name));
    }
  }
}

}  // namespace goodput
