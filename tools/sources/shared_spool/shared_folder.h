// A node's access to the folder that it shares with the controller: all calls through which records leave the
// node.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "spank/files.h"

namespace goodput {

// Bytes before a copy's end that are compared with the original when the copy is first checked.
inline constexpr std::size_t kTailBytes = 4096;
// Maximum size of one Append or Replace.
inline constexpr std::size_t kMaxPieceBytes = std::size_t{64} << 10U;
// Below the shared folder: one file per node. Not in the nodes' own folders: the controller recognizes new
// files by the folders' times, which files replaced every few seconds would change.
inline constexpr const char* kHeartbeatsFolder = "@heartbeat";
inline constexpr const char* kCountsName = "counts";
// In the node's own spool: why records are kept on the node, in one line; empty while they are copied.
inline constexpr const char* kShippingName = "shipping";

// How folders and files of a spool, or of a copy, are opened: only the expected type, and without blocking.
inline constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
inline constexpr int kFileFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

// The current state of a copy.
struct SharedFile {
  std::int64_t size = 0;  // 0: it does not exist
  std::string tail;       // its last bytes, if requested
  std::string place;      // identifies the shared folder; changes if another is mounted there
};

std::string PlaceOf(const struct stat& folder);

// Errors concern the shared folder as a whole: one line that says what, where and how to fix it, identical
// for every file. `folder` and `file` are names without a slash.
class SharedFolder {
 public:
  // Includes the tail. `settled`: after everything written to it is on the server's disk.
  virtual absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file,
                                          bool settled) = 0;
  // Writes `bytes` after the first `offset` bytes, and creates folder and file if they are missing. A file of
  // another size is not changed. Returns the new size: smaller if only a part fitted.
  virtual absl::StatusOr<SharedFile> Append(const std::string& folder, const std::string& file,
                                            std::int64_t offset, std::string_view bytes) = 0;
  // Replaces the file atomically. Returns its place.
  virtual absl::StatusOr<SharedFile> Replace(const std::string& folder, const std::string& file,
                                             std::string_view bytes) = 0;

 protected:
  ~SharedFolder() = default;  // never destroyed through this type
};

// With system calls, which hang if the file system does.
class DirectSharedFolder final : public SharedFolder {
 public:
  // `owner`: the required owner of the shared folder and everything in it, and the user of this process.
  DirectSharedFolder(std::string root, uid_t owner, Files& files)
      : root_(std::move(root)), owner_(owner), files_(files) {}

  absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file, bool settled) override;
  absl::StatusOr<SharedFile> Append(const std::string& folder, const std::string& file, std::int64_t offset,
                                    std::string_view bytes) override;
  absl::StatusOr<SharedFile> Replace(const std::string& folder, const std::string& file,
                                     std::string_view bytes) override;

 private:
  absl::StatusOr<int> OpenRoot(std::string& place) const;
  absl::StatusOr<int> OpenFolder(const std::string& folder, bool make, std::string& place) const;
  absl::Status CheckOwner(int fd, struct stat& info, std::string_view what) const;
  absl::Status Trouble(int error) const;
  absl::Status FileTrouble(int error, const std::string& folder, const std::string& file) const;

  std::string root_;
  uid_t owner_;
  Files& files_;
};

}  // namespace goodput
