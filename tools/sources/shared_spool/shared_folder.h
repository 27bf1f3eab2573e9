// What a node does in the folder it shares with the controller: the only calls by which records leave it.
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

// Bytes before a copy's end that are compared with the original's when the copy is first looked at.
inline constexpr std::size_t kTailBytes = 4096;
// Most bytes of one Append or Replace.
inline constexpr std::size_t kMaxPieceBytes = std::size_t{64} << 10U;
// Below the shared folder, a file a node. Not in the nodes' own folders: what is replaced every few seconds
// would change their times, by which the controller sees that there are new files.
inline constexpr const char* kHeartbeatsFolder = "@heartbeat";
inline constexpr const char* kCountsName = "counts";
// In the node's own spool: why records wait on the node, in one line; empty when they are copied.
inline constexpr const char* kShippingName = "shipping";

// How folders and files of a spool, or of a copy, are opened: as what they are, and never to wait for
// anybody.
inline constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
inline constexpr int kFileFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

// A copy as it is there now.
struct SharedFile {
  std::int64_t size = 0;  // 0: there is none
  std::string tail;       // its last bytes, where they were asked for
  std::string place;      // names the shared folder itself: another is mounted there when it changes
};

std::string PlaceOf(const struct stat& folder);

// Errors are of the shared folder as a whole, in one line that says what, where and how to mend it, and is
// the same for every file. `folder` and `file` are names without a slash.
class SharedFolder {
 public:
  // With the tail. `settled`: after everything written to it is on the server's disk.
  virtual absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file,
                                          bool settled) = 0;
  // Writes `bytes` behind the first `offset`, making folder and file where they are missing. A file of
  // another size is left as it is. Returns the size it has now: less than asked for where only some of it
  // found room.
  virtual absl::StatusOr<SharedFile> Append(const std::string& folder, const std::string& file,
                                            std::int64_t offset, std::string_view bytes) = 0;
  // The file is this, or what it was. Returns its place.
  virtual absl::StatusOr<SharedFile> Replace(const std::string& folder, const std::string& file,
                                             std::string_view bytes) = 0;

 protected:
  ~SharedFolder() = default;  // never destroyed by this name
};

// By system calls, which hang when the file system does.
class DirectSharedFolder final : public SharedFolder {
 public:
  // `owner`: who must own the shared folder and all in it, and who this process is.
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
