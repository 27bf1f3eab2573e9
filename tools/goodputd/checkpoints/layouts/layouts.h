// One function a layout. It is shown a directory, reports the checkpoints in it and takes the names that
// belong to them: no later layout is asked about those, and nobody looks for checkpoints inside.
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
  // `path`: of the folder within the directory, "" or ending with a slash.
  Place(const FolderView& folder, std::string path, std::int64_t since_ns)
      : folder_(folder), path_(std::move(path)), since_ns_(since_ns) {}

  const FolderView& folder() const { return folder_; }
  // The entries nobody has taken.
  std::vector<FolderEntry> Free() const;
  bool Has(std::string_view name) const;
  // A folder in it, kept open while a few are; null when it cannot be read.
  std::shared_ptr<const FolderView> Inside(const std::string& name);

  void Take(const std::string& name) { taken_.insert(name); }
  // Reports one; its name is that within the folder. While it is not complete, `inside` is watched.
  void Found(CheckpointSeen seen, const FolderView* inside = nullptr);

  // One that is begun, as far as is known, of a file or folder here. `last_ns` as below.
  CheckpointSeen Begun(const char* layout, const std::string& name, std::optional<std::int64_t> train_step,
                       const FileTimes& times, std::int64_t last_ns = 0);
  // When the writing of a thing of the folder began: it was made then; where an older one of that name is
  // written again, or the file system does not tell when it was made, when the first file in it was.
  // `last_ns`: of its files, as far as is known, the last was written then. Nothing is looked into that seems
  // not to have changed since the job began.
  std::int64_t BeginOf(const std::string& name, const FileTimes& times, std::int64_t last_ns = 0);
  // It is an earlier attempt's, and nobody has touched it since.
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

// A number that is the whole text; null: it is none. At most 18 digits.
std::optional<std::int64_t> WholeNumber(std::string_view text);
// A number that is all that follows `prefix`.
std::optional<std::int64_t> NumberAfter(std::string_view name, std::string_view prefix);
// The number after the last "KEY" in the name, digits up to something else ("step=" in
// "epoch=0-step=41-last").
std::optional<std::int64_t> NumberOf(std::string_view name, std::string_view key);
bool HasEntry(const FolderView& folder, std::string_view name);
// Whether a file is a whole zip archive, as torch.save writes one: its directory comes last and says where
// it begins, and that is where it is.
bool IsWholeZip(const FolderView& folder, const std::string& name, std::int64_t size);
// Whether a file ends like a pickle.
bool IsWholePickle(const FolderView& folder, const std::string& name, std::int64_t size);

// Which entries are whose, in the order they are asked: each says it in its file.
void FindMegatron(Place& place);
void FindHuggingFace(Place& place);
void FindDeepSpeed(Place& place);
void FindOrbax(Place& place);
void FindNemo(Place& place);
void FindLightning(Place& place);
void FindComposer(Place& place);
void FindTorchDcp(Place& place);
void FindPlainFiles(Place& place);

// The directory itself is a checkpoint: of PyTorch's distributed ones, written over and over. True: it was.
bool FindTorchDcpItself(Place& place);

}  // namespace goodput
