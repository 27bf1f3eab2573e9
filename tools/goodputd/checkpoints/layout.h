// Finds the checkpoints in a directory, and which are complete. A layout is how one framework writes them:
// their names, the order in which files appear, and the last operation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // otherwise a file; other types are not listed
};

// Nanoseconds since the epoch, by the file system's clock.
struct FileTimes {
  std::int64_t born_ns = 0;  // creation time; if unknown, the oldest time that the file system has
  std::int64_t written_ns = 0;
  std::int64_t changed_ns = 0;  // the latest change: written, renamed, linked, or its permissions
  std::uint64_t id = 0;         // changes if another file takes the name
  std::int64_t size = 0;
  bool born_known = true;  // often false on NFS
};

// The current contents of one directory, without links and without files removed meanwhile.
class FolderView {
 public:
  virtual ~FolderView() = default;
  // The entries of the directory itself, by name.
  virtual const std::vector<FolderEntry>& Entries() const = 0;
  virtual std::optional<FileTimes> Times(const std::string& name) const = 0;
  // The text of a small file in it; empty if it cannot be read or is larger than 64 KiB.
  virtual std::optional<std::string> Read(const std::string& name) const = 0;
  // The first bytes of a file in it, at most this many; empty if it cannot be read.
  virtual std::optional<std::string> Head(const std::string& name, std::size_t bytes) const = 0;
  // The last bytes of a file in it, at most this many; empty if it cannot be read.
  virtual std::optional<std::string> Tail(const std::string& name, std::size_t bytes) const = 0;
  // A directory in it; null if it cannot be read.
  virtual std::unique_ptr<FolderView> Open(const std::string& name) const = 0;
  // Watches it for changes from now on.
  virtual void Watch() const {}
};

struct CheckpointSeen {
  std::string layout;
  std::string name;                        // path within the directory; the same during and after writing
  std::optional<std::int64_t> train_step;  // number of steps that it holds; absent: not in its name
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> complete_ns;  // absent: not complete, or the time can no longer be found
  std::uint64_t id = 0;                     // of its folder or file; 0: there is none yet
  std::int64_t written_ns = 0;              // last write of what completes it, or of any part of it
  bool begin_known = true;                  // false: at begin_ns or earlier
};

// All checkpoints in a directory and up to this many levels of folders below, in any layout. Those last
// written before `since_ns` are omitted.
inline constexpr int kMaxDepth = 4;
std::vector<CheckpointSeen> FindCheckpoints(const FolderView& folder, std::int64_t since_ns);

}  // namespace goodput
