// File access as another user, for a process that otherwise keeps its own: the controller's ingest writes its
// own database and reads folders that only the user of the shared spool can read.
#pragma once

#include <sys/types.h>

#include "spank/files.h"

namespace goodput {

// Makes each call with the file-system user and group `uid` and `gid`, which apply only to the current
// thread.
class FilesAs final : public Files {
 public:
  FilesAs(uid_t uid, gid_t gid) : uid_(uid), gid_(gid) {}
  // Whether this process is allowed to do that; the calls themselves would not report it.
  bool Works() noexcept;

  int OpenAt(int at, const char* path, int flags, mode_t mode) noexcept override;
  int Close(int fd) noexcept override;
  ssize_t Read(int fd, void* into, std::size_t size) noexcept override;
  ssize_t PRead(int fd, void* into, std::size_t size, off_t at) noexcept override;
  ssize_t Write(int fd, const void* data, std::size_t size) noexcept override;
  int FStat(int fd, struct stat* out) noexcept override;
  int FStatAt(int at, const char* path, struct stat* out, int flags) noexcept override;
  int FStatFs(int fd, struct statfs* out) noexcept override;
  int AccessAt(int at, const char* path, int mode, int flags) noexcept override;
  int MkdirAt(int at, const char* path, mode_t mode) noexcept override;
  int RenameAt(int at, const char* from, int to_at, const char* to) noexcept override;
  int UnlinkAt(int at, const char* path, int flags) noexcept override;
  int Fallocate(int fd, off_t at, off_t size) noexcept override;
  void* Map(int fd, std::size_t size) noexcept override;
  int Unmap(void* map, std::size_t size) noexcept override;
  DIR* OpenDir(int fd) noexcept override;
  const dirent* ReadDir(DIR* dir) noexcept override;
  int CloseDir(DIR* dir) noexcept override;
  ssize_t PWrite(int fd, const void* data, std::size_t size, off_t at) noexcept override;
  int FSync(int fd) noexcept override;
  int Truncate(int fd, off_t size) noexcept override;
  int Lock(int fd) noexcept override;

 private:
  template <typename Call>
  auto As(Call call) noexcept;

  uid_t uid_;
  gid_t gid_;
};

}  // namespace goodput
