// Files of programs without a framework: one file that is overwritten by each save (torch.save to
// snapshot.pt), or one file per save (ckpt_100.pt), in the directory itself. Only the file itself shows
// whether it is complete: those of torch.save, NumPy and Keras are zip archives with their directory at the
// end; any other kind is complete when it has not been written to for a while. Careful programs write
// NAME.tmp, .NAME or the like and rename it.
//
// The ending shows which files are checkpoints: a growing log is not one. The number after "step" or "iter"
// is the number of steps done; what ckpt_N and epoch_N count is unknown.
#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/match.h"
#include "spank/clock.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kLayoutName = "file";
constexpr std::array<std::string_view, 11> kEndings{".pt",      ".pth", ".tar",     ".npz",
                                                    ".keras",   ".pkl", ".pickle",  ".safetensors",
                                                    ".msgpack", ".h5",  ".pdparams"};
constexpr std::array<std::string_view, 6> kTemporaryEndings{".tmp",     ".temp", ".part",
                                                            ".partial", ".new",  ".incomplete"};
constexpr std::array<std::string_view, 4> kTemporaryBeginnings{".", "tmp_", "tmp-", "tmp."};
// A file that is not an archive is complete after this long without a write.
constexpr std::int64_t kSettledNs = 2'000'000'000;
constexpr std::string_view kZipBegins = "PK\x03\x04";

bool IsCheckpoint(std::string_view name) {
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && absl::EndsWith(ToAbsl(name), ToAbsl(ending));
  });
}

// The final name of a file being written; unchanged if the name is not temporary.
std::string_view FinalName(std::string_view name) {
  for (const std::string_view ending : kTemporaryEndings) {
    if (absl::EndsWith(ToAbsl(name), ToAbsl(ending))) {
      name.remove_suffix(ending.size());
      break;
    }
  }
  for (const std::string_view beginning : kTemporaryBeginnings) {
    if (absl::StartsWith(ToAbsl(name), ToAbsl(beginning))) {
      name.remove_prefix(beginning.size());
      break;
    }
  }
  return name;
}

std::optional<std::int64_t> StepOf(std::string_view name) {
  for (const char* key : {"step-", "step_", "step=", "step", "iter_", "iter-", "iter=", "iter"}) {
    if (const auto step = NumberOf(name, key)) return step;
  }
  return std::nullopt;
}

bool HasTemporary(const FolderView& folder, std::string_view name) {
  const auto& entries = folder.Entries();
  return std::any_of(entries.begin(), entries.end(), [&](const FolderEntry& entry) {
    return !entry.is_folder && entry.name != name && FinalName(entry.name) == name;
  });
}

bool IsWhole(const FolderView& folder, const std::string& name, const FileTimes& times) {
  if (IsWholeZip(folder, name, times.size)) return true;
  // A truncated archive begins like a complete one.
  const auto head = folder.Head(name, kZipBegins.size());
  return head && !head->empty() && *head != kZipBegins &&
         ReadClockNs(CLOCK_REALTIME) - std::max(times.written_ns, times.changed_ns) >= kSettledNs;
}

}  // namespace

void FindPlainFiles(Place& place) {
  if (!place.path().empty()) return;
  // A file that is written under a temporary name comes after the one that it will replace.
  for (const bool temporary : {false, true}) {
    for (const FolderEntry& entry : place.Free()) {
      const std::string name(FinalName(entry.name));
      if (entry.is_folder || !IsCheckpoint(name) || (name != entry.name) != temporary) continue;
      place.Take(entry.name);
      const auto times = place.folder().Times(entry.name);
      if (!times || place.IsOld(*times, times->changed_ns)) continue;
      CheckpointSeen seen = place.Begun(kLayoutName, entry.name, StepOf(name), *times, times->changed_ns);
      seen.name = name;
      if (!temporary && IsWhole(place.folder(), entry.name, *times))
        seen.complete_ns = std::max(times->changed_ns, seen.begin_ns);
      // Both exist: it is not being written any more.
      if (!temporary && !seen.complete_ns && HasTemporary(place.folder(), name)) continue;
      // Its begin is not recorded: treated as seen only once complete.
      if (seen.complete_ns && !times->born_known) seen.begin_ns = *seen.complete_ns;
      place.Found(std::move(seen));
    }
  }
}

}  // namespace goodput
