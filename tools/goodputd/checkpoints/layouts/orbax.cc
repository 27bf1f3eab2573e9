// Orbax and programs built on it, such as MaxText (orbax/checkpoint/_src/path/atomicity.py, path/step.py,
// metadata/checkpoint.py): folder STEP or PREFIX_STEP, containing TensorStore items.
//
// Where a rename is atomic, it is filled as STEP.orbax-checkpoint-tmp (older releases: ...-tmp-NUMBER) and
// renamed. Where it is not (and in newer releases in addition to the rename), commit_success.txt is written
// last. Just before either, _CHECKPOINT_METADATA gets its commit_timestamp_nsecs. So under its final name, a
// folder with commit_success.txt is complete; one without it is complete if its metadata has a commit time;
// one of an old release with neither is complete if it was renamed, which changes a folder later than writing
// its contents.
//
// A plain number, as in MaxText and most loops, is the number, counted from 0, of the last step done, so N +
// 1 steps. With a prefix (checkpoint_N of T5X, Flax and Pax), N is the number of steps done.
#include <algorithm>
#include <array>

#include "absl/strings/str_replace.h"
#include "tools/goodputd/checkpoints/layouts/layouts.h"

namespace goodput {
namespace {

constexpr const char* kOrbaxTemporary = ".orbax-checkpoint-tmp";
constexpr const char* kOrbaxMetadata = "_CHECKPOINT_METADATA";
constexpr const char* kCommit = "commit_success.txt";
// Anything may be named by a number; one of these entries shows that it is a checkpoint.
constexpr std::array<const char*, 5> kOwn{kOrbaxMetadata, kCommit, "_METADATA", "manifest.ocdbt",
                                          "_sharding"};
constexpr std::size_t kMaxItems = 16;

struct StepName {
  std::int64_t steps = 0;
  bool temporary = false;
  std::string final_name;
};

std::optional<StepName> ReadName(const std::string& name) {
  StepName read;
  const std::size_t at = name.find(kOrbaxTemporary);
  read.temporary = at != std::string::npos;
  read.final_name = name.substr(0, at);
  const std::size_t prefix = read.final_name.rfind('_');
  const auto number =
      WholeNumber(prefix == std::string::npos ? read.final_name : read.final_name.substr(prefix + 1));
  if (!number || prefix == 0) return std::nullopt;
  read.steps = *number + (prefix == std::string::npos ? 1 : 0);
  return read;
}

bool HasOwn(const FolderView& folder) {
  return std::any_of(kOwn.begin(), kOwn.end(), [&](const char* own) { return HasEntry(folder, own); });
}

// A folder of steps whose own name has a number is not a checkpoint: its steps are.
bool IsOrbax(const FolderView& folder) {
  if (folder.Times(kOrbaxMetadata) || folder.Times(kCommit) || HasOwn(folder)) return true;
  std::size_t items = 0;
  for (const FolderEntry& entry : folder.Entries()) {
    if (!entry.is_folder || ReadName(entry.name)) continue;
    if (entry.name.find(kOrbaxTemporary) != std::string::npos) return true;
    if (++items > kMaxItems) return false;
    const auto item = folder.Open(entry.name);
    if (item && HasOwn(*item)) return true;
  }
  return false;
}

// In JSON on one or several lines: "commit_timestamp_nsecs": 1755...
bool HasCommitTime(const std::optional<std::string>& text) {
  if (!text) return false;
  const std::string tight = absl::StrReplaceAll(*text, {{" ", ""}, {"\n", ""}, {"\t", ""}, {"\r", ""}});
  constexpr std::string_view kKey = "\"commit_timestamp_nsecs\":";
  const std::size_t at = tight.find(kKey);
  // Text truncated within the number would not continue.
  return at != std::string::npos && at + kKey.size() < tight.size() && tight[at + kKey.size()] >= '1' &&
         tight[at + kKey.size()] <= '9' && tight.back() == '}';
}

// When a folder under its final name was committed. Its last change is the rename, or the creation of the
// commit file; but the folder of an earlier attempt changes when it is removed.
std::optional<std::int64_t> CommitTime(const FolderView& folder, const FileTimes& times, bool fresh) {
  const char* evidence = HasEntry(folder, kCommit)          ? kCommit
                         : HasEntry(folder, kOrbaxMetadata) ? kOrbaxMetadata
                                                            : nullptr;
  if (evidence == nullptr) {
    return times.changed_ns > times.written_ns ? std::optional(times.changed_ns) : std::nullopt;
  }
  if (evidence == kOrbaxMetadata && !HasCommitTime(folder.Read(kOrbaxMetadata))) return std::nullopt;
  if (fresh) return times.changed_ns;
  const auto file = folder.Times(evidence);
  return file ? std::optional(file->written_ns) : std::nullopt;
}

}  // namespace

void FindOrbax(Place& place) {
  for (const FolderEntry& entry : place.Free()) {
    if (!entry.is_folder) continue;
    const auto name = ReadName(entry.name);
    if (!name) continue;
    const auto times = place.folder().Times(entry.name);
    const auto inside = place.Inside(entry.name);
    if (!times || !inside || (!name->temporary && !IsOrbax(*inside))) continue;
    place.Take(entry.name);
    if (place.IsOld(*times, times->changed_ns)) continue;
    CheckpointSeen seen = place.Begun("orbax", entry.name, name->steps, *times);
    seen.name = name->final_name;
    if (!name->temporary) {
      if (const auto t_ns = CommitTime(*inside, *times, times->born_ns >= place.since_ns())) {
        seen.complete_ns = std::max(*t_ns, seen.begin_ns);
        // Removing entries from it is not writing; a new save is another folder.
        seen.written_ns = 0;
      }
    }
    place.Found(std::move(seen), inside.get());
  }
}

}  // namespace goodput
