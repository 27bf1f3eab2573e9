// NeMo 2, and NeMo 1 with distributed checkpoints (nemo/lightning/pytorch/callbacks/model_checkpoint.py,
// nemo/lightning/io/pl.py): the file NAME-unfinished is made first and removed last; in between folder NAME
// gets weights/ (distributed) and context/. Of NeMo 1 the files lie in NAME itself, or NAME.ckpt is a file.
// The same marker is put there while one is removed: then the folder is older than it. NAME-last is a link to
// the newest (which is not followed), or saved once more. There is nothing that tells when a marker was
// removed but the directory's own time, so completion is the last file's time.
//
// The step in a name of NeMo 2 is that of the metric "step", logged before the step was done: N + 1 steps
// are. NeMo 1 logged none, and Lightning's own number, of steps done, stands there.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kMarker = "-unfinished";
constexpr int kMaxLevels = 2;

void LastWritten(const FolderView& folder, int levels, std::int64_t& last) {
  for (const FolderEntry& entry : folder.Entries()) {
    if (entry.is_folder && levels > 0) {
      if (const auto inside = folder.Open(entry.name)) LastWritten(*inside, levels - 1, last);
    } else if (const auto times = folder.Times(entry.name); times && !entry.is_folder) {
      last = std::max({last, times->written_ns, times->born_ns});
    }
  }
}

// A folder of its files, whole or not.
bool IsNemo(const FolderView& folder, bool& second) {
  second = HasEntry(folder, "weights") || HasEntry(folder, "context");
  return second || (HasEntry(folder, "common.pt") && HasEntry(folder, "metadata.json"));
}

}  // namespace

void FindNemo(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (entry.is_folder) {
      if (place.Has(entry.name + kMarker)) continue;  // its marker's turn
      const auto inside = place.Inside(entry.name);
      bool second = false;
      if (!inside || !IsNemo(*inside, second)) continue;
      const auto times = place.folder().Times(entry.name);
      if (!times) continue;
      place.Take(entry.name);
      auto step = NumberOf(entry.name, "step=");
      if (step && second) ++*step;
      CheckpointSeen seen{"nemo",    entry.name,       step, place.BeginOf(entry.name, *times), std::nullopt,
                          times->id, times->written_ns};
      std::int64_t last = 0;
      LastWritten(*inside, kMaxLevels, last);
      // Complete without a marker: one was there from before the folder was.
      const auto& data = second ? inside->Open("weights") : nullptr;
      const bool whole =
          !second || (data && (HasEntry(*data, ".metadata") || HasEntry(*data, "metadata.json")));
      // The listing may be older than the marker.
      if (whole && !place.folder().Times(entry.name + kMarker))
        seen.complete_ns = seen.written_ns = std::max(last, seen.begin_ns);
      place.Found(std::move(seen));
      continue;
    }
    absl::string_view name = entry.name;
    if (!absl::ConsumeSuffix(&name, kMarker) || name.empty()) continue;
    const auto marker = place.folder().Times(entry.name);
    if (!marker) continue;
    place.Take(entry.name);
    const std::string folder(name);
    const std::string file = folder + ".ckpt";
    for (const std::string& taken : {folder, file, folder + "-EMA.ckpt"}) place.Take(taken);
    const auto times = place.folder().Times(folder);
    const auto inside = place.Inside(folder);
    std::int64_t last = 0;
    if (inside) LastWritten(*inside, kMaxLevels, last);
    if (const auto one = place.folder().Times(file)) last = std::max(last, one->written_ns);
    // What is older than its marker, and has nothing newer, is being removed.
    const bool old = times && times->born_ns < marker->born_ns && last < marker->born_ns;
    if (old) continue;
    const bool is_file = place.Has(file);
    // A marker alone is the first thing of a save, and the last of a removal: what comes next tells.
    if (!times && !is_file) continue;
    auto step = NumberOf(folder, "step=");
    if (step && !is_file) ++*step;
    place.Found({"nemo", is_file ? file : folder, step, marker->born_ns, std::nullopt,
                 times ? times->id : std::uint64_t{0}, std::max(last, marker->born_ns)});
  }
}

}  // namespace goodput
