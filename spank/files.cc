#include "spank/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace goodput {
namespace {

class SystemFiles final : public Files {
 public:
  int OpenAt(int at, const char* path, int flags, mode_t mode) noexcept override {
    return openat(at, path, flags, mode);
  }
  int Close(int fd) noexcept override { return close(fd); }
  ssize_t Read(int fd, void* into, std::size_t size) noexcept override { return read(fd, into, size); }
  ssize_t PRead(int fd, void* into, std::size_t size, off_t at) noexcept override {
    return pread(fd, into, size, at);
  }
  ssize_t Write(int fd, const void* data, std::size_t size) noexcept override {
    return write(fd, data, size);
  }
  int FStat(int fd, struct stat* out) noexcept override { return fstat(fd, out); }
  int FStatAt(int at, const char* path, struct stat* out, int flags) noexcept override {
    return fstatat(at, path, out, flags);
  }
  int FStatFs(int fd, struct statfs* out) noexcept override { return fstatfs(fd, out); }
  int AccessAt(int at, const char* path, int mode, int flags) noexcept override {
    return faccessat(at, path, mode, flags);
  }
  int MkdirAt(int at, const char* path, mode_t mode) noexcept override { return mkdirat(at, path, mode); }
  int RenameAt(int at, const char* from, int to_at, const char* to) noexcept override {
    return renameat(at, from, to_at, to);
  }
  int UnlinkAt(int at, const char* path, int flags) noexcept override { return unlinkat(at, path, flags); }
  int Fallocate(int fd, off_t at, off_t size) noexcept override { return posix_fallocate(fd, at, size); }
  void* Map(int fd, std::size_t size) noexcept override {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  int Unmap(void* map, std::size_t size) noexcept override { return munmap(map, size); }
  DIR* OpenDir(int fd) noexcept override { return fdopendir(fd); }
  const dirent* ReadDir(DIR* dir) noexcept override {
    return readdir(dir);  // NOLINT(concurrency-mt-unsafe): a DIR is its opener's alone
  }
  int CloseDir(DIR* dir) noexcept override { return closedir(dir); }
  ssize_t PWrite(int fd, const void* data, std::size_t size, off_t at) noexcept override {
    return pwrite(fd, data, size, at);
  }
  int FSync(int fd) noexcept override { return fsync(fd); }
  int Truncate(int fd, off_t size) noexcept override { return ftruncate(fd, size); }
  int Lock(int fd) noexcept override { return flock(fd, LOCK_EX | LOCK_NB); }
};

SystemFiles system_files;

}  // namespace

Files& RealFiles() noexcept {
  return system_files;
}

}  // namespace goodput
