// One function per layout. It gets a directory, reports the checkpoints in it, and claims the names that
// belong to them: later layouts do not see those, and no checkpoints are searched inside them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/goodputd/checkpoints/layout.h"

namespace goodput {

class Place {
 public:
  // `path`: of the folder within the directory; "" or ending with a slash.
  Place(const FolderView& folder, std::string path, std::int64_t since_ns)
      : folder_(folder), path_(std::move(path)), since_ns_(since_ns) {}

  const FolderView& folder() const { return folder_; }
  // The unclaimed entries.
  std::vector<FolderEntry> Free() const;
  bool Has(std::string_view name) const;
  // A folder in it, cached for a few folders; null if it cannot be read.
  std::shared_ptr<const FolderView> Inside(const std::string& name);

  void Take(const std::string& name) { taken_.insert(name); }
  // Reports a checkpoint; its name is relative to this folder. Until it is complete, `inside` is watched.
  void Found(CheckpointSeen seen, const FolderView* inside = nullptr);

  // A checkpoint that has begun, in a file or folder here. `last_ns` as below.
  CheckpointSeen Begun(const char* layout, const std::string& name, std::optional<std::int64_t> train_step,
                       const FileTimes& times, std::int64_t last_ns = 0);
  // When the writing of an entry began: its creation time; if an older entry of that name is rewritten, or
  // the file system does not record creation times, the time of its first file. `last_ns`: the last known
  // write to its files. Entries that have not changed since the job began are not read.
  std::int64_t BeginOf(const std::string& name, const FileTimes& times, std::int64_t last_ns = 0);
  // It belongs to an earlier attempt and has not changed since.
  bool IsOld(const FileTimes& times, std::int64_t last_ns = 0) const;
  std::int64_t since_ns() const { return since_ns_; }
  const std::string& path() const { return path_; }
  std::vector<CheckpointSeen>& found() { return found_; }

 private:
  const FolderView& folder_;
  std::string path_;
  std::int64_t since_ns_;
  std::set<std::string> taken_;
  std::map<std::string, std::shared_ptr<const FolderView>> inside_;
  std::vector<CheckpointSeen> found_;
};

// The number, if the text is nothing else (at most 18 digits).
std::optional<std::int64_t> WholeNumber(std::string_view text);
// The number, if nothing else follows `prefix`.
std::optional<std::int64_t> NumberAfter(std::string_view name, std::string_view prefix);
// The number after the last "KEY" in the name, up to the first other character ("step=" in
// "epoch=0-step=41-last").
std::optional<std::int64_t> NumberOf(std::string_view name, std::string_view key);
bool HasEntry(const FolderView& folder, std::string_view name);
// Whether a file is a complete zip archive, as written by torch.save: its directory is at the end, and begins
// where it says.
bool IsWholeZip(const FolderView& folder, const std::string& name, std::int64_t size);
// Whether a file ends like a pickle.
bool IsWholePickle(const FolderView& folder, const std::string& name, std::int64_t size);

// The layouts, in the order in which they are asked; each file describes its layout.
void FindMegatron(Place& place);
void FindHuggingFace(Place& place);
void FindDeepSpeed(Place& place);
void FindOrbax(Place& place);
void FindNemo(Place& place);
void FindLightning(Place& place);
void FindComposer(Place& place);
void FindTorchDcp(Place& place);
void FindPlainFiles(Place& place);

// For a directory that itself is a checkpoint of PyTorch's distributed format, rewritten in place. Returns
// whether it is.
bool FindTorchDcpItself(Place& place);

}  // namespace goodput
