// The file-system seam: the spool, its notes and ingest make every call that touches a disk through one small
// object, so that unit tests can simulate a full, failing or hanging disk and a process that dies at any
// single call (tests/unit/faults_test.cc). Standard library and libc only; a virtual call costs a few
// nanoseconds on top of a system call.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstddef>

namespace goodput {

class Files {
 public:
  // Each is the system or libc call of that name: same result, and errno is set on failure.
  virtual int OpenAt(int at, const char* path, int flags, mode_t mode) noexcept = 0;
  virtual int Close(int fd) noexcept = 0;
  virtual ssize_t Read(int fd, void* into, std::size_t size) noexcept = 0;
  virtual ssize_t PRead(int fd, void* into, std::size_t size, off_t at) noexcept = 0;
  virtual ssize_t Write(int fd, const void* data, std::size_t size) noexcept = 0;
  virtual int FStat(int fd, struct stat* out) noexcept = 0;
  virtual int FStatAt(int at, const char* path, struct stat* out, int flags) noexcept = 0;
  virtual int FStatFs(int fd, struct statfs* out) noexcept = 0;
  virtual int AccessAt(int at, const char* path, int mode, int flags) noexcept = 0;
  virtual int MkdirAt(int at, const char* path, mode_t mode) noexcept = 0;
  virtual int RenameAt(int at, const char* from, int to_at, const char* to) noexcept = 0;
  virtual int UnlinkAt(int at, const char* path, int flags) noexcept = 0;
  virtual int Fallocate(int fd, off_t at, off_t size) noexcept = 0;  // posix_fallocate: returns the error
  virtual void* Map(
      int fd,
      std::size_t size) noexcept = 0;  // mmap of the file from offset 0, shared, readable and writable
  virtual int Unmap(void* map, std::size_t size) noexcept = 0;
  virtual DIR* OpenDir(int fd) noexcept = 0;  // fdopendir
  virtual const dirent* ReadDir(DIR* dir) noexcept = 0;
  virtual int CloseDir(DIR* dir) noexcept = 0;
  virtual ssize_t PWrite(int fd, const void* data, std::size_t size, off_t at) noexcept = 0;
  virtual int FSync(int fd) noexcept = 0;
  virtual int Truncate(int fd, off_t size) noexcept = 0;
  virtual int Lock(int fd) noexcept = 0;  // flock: exclusive, non-blocking

 protected:
  ~Files() = default;  // never destroyed through this type
};

// The system calls themselves.
Files& RealFiles() noexcept;

// Repeats a call that a signal interrupted, a few times only, since a hook must end.
template <typename Call>
auto Uninterrupted(Call call) noexcept {
  constexpr int kTries = 4;
  auto result = call();
  for (int i = 1; i < kTries && result < 0 && errno == EINTR; ++i) result = call();
  return result;
}

// Owns a file descriptor. Closing it preserves errno.
class Fd {
 public:
  Fd(Files& files, int fd) noexcept : files_(files), fd_(fd) {}
  ~Fd() {
    const int error = errno;
    if (fd_ >= 0) files_.Close(fd_);
    errno = error;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const noexcept { return fd_; }
  int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  Files& files_;
  int fd_;
};

// Calls `visit` with the name of every entry of the folder that `fd` is open on, and closes `fd`. Returns
// false, with errno set, if the folder could not be read to its end.
template <typename Visit>
bool ForEachEntry(Files& files, int fd, Visit visit) {
  DIR* dir = fd < 0 ? nullptr : files.OpenDir(fd);
  if (dir == nullptr) {
    const Fd unused(files, fd);
    return false;
  }
  errno = 0;
  while (const dirent* entry = files.ReadDir(dir)) {
    visit(static_cast<const char*>(entry->d_name));
    errno = 0;
  }
  const int error = errno;
  files.CloseDir(dir);
  errno = error;
  return error == 0;
}

}  // namespace goodput
