// What lies in a checkpoint directory, and which of it is a complete checkpoint. A layout is how one
// framework writes: what it calls them, in what order the files appear, and what it does last.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // else a file; nothing else is seen
};

// Nanoseconds since the epoch, by the file system's clock.
struct FileTimes {
  std::int64_t born_ns = 0;  // when it was made; the file system's oldest time of it where that is not known
  std::int64_t written_ns = 0;
  std::int64_t changed_ns = 0;  // written, renamed, linked or given other rights: the last of these
  std::uint64_t id = 0;         // another thing of the same name has another one
  std::int64_t size = 0;
  bool born_known = true;  // NFS often does not tell
};

// One directory as it is now. Links are not there, and neither is what was removed since.
class FolderView {
 public:
  virtual ~FolderView() = default;
  // What is in the directory itself, by name.
  virtual const std::vector<FolderEntry>& Entries() const = 0;
  virtual std::optional<FileTimes> Times(const std::string& name) const = 0;
  // The text of a small file in it; nothing when it cannot be read or has more than 64 KiB.
  virtual std::optional<std::string> Read(const std::string& name) const = 0;
  // The first bytes of a file in it, at most so many; nothing when it cannot be read.
  virtual std::optional<std::string> Head(const std::string& name, std::size_t bytes) const = 0;
  // The last bytes of a file in it, at most so many; nothing when it cannot be read.
  virtual std::optional<std::string> Tail(const std::string& name, std::size_t bytes) const = 0;
  // A directory in it; null when it cannot be read.
  virtual std::unique_ptr<FolderView> Open(const std::string& name) const = 0;
  // What happens in it from now on is of interest.
  virtual void Watch() const {}
};

struct CheckpointSeen {
  std::string layout;
  std::string name;  // path within the directory; the same while it is written and after
  std::optional<std::int64_t> train_step;  // so many steps it holds; absent: its name does not say
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> complete_ns;  // absent: not complete, or not to be told any more
  std::uint64_t id = 0;                     // of its folder or file; 0 while there is none
  std::int64_t written_ns = 0;  // what makes it complete, else anything of it, was last written then
  bool begin_known = true;      // false: at begin_ns or before
};

// Whatever is in a directory and at most so many levels of folders below, by every layout. Written since
// `since_ns`: the others are left out.
inline constexpr int kMaxDepth = 4;
std::vector<CheckpointSeen> FindCheckpoints(const FolderView& folder, std::int64_t since_ns);

}  // namespace goodput
