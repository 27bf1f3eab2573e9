#include "tools/sources/shared_spool/files_as.h"

#include <sys/fsuid.h>

#include <cerrno>

namespace goodput {

template <typename Call>
auto FilesAs::As(Call call) noexcept {
  // The group first, since it cannot be changed without root.
  const int gid = setfsgid(gid_);
  const int uid = setfsuid(uid_);
  auto result = call();
  const int error = errno;
  setfsuid(static_cast<uid_t>(uid));
  setfsgid(static_cast<gid_t>(gid));
  errno = error;
  return result;
}

bool FilesAs::Works() noexcept {
  // An invalid id changes nothing, and the call returns the current one.
  constexpr auto kNone = static_cast<uid_t>(-1);
  return As(
      [&] { return setfsuid(kNone) == static_cast<int>(uid_) && setfsgid(kNone) == static_cast<int>(gid_); });
}

int FilesAs::OpenAt(int at, const char* path, int flags, mode_t mode) noexcept {
  return As([&] { return RealFiles().OpenAt(at, path, flags, mode); });
}

int FilesAs::Close(int fd) noexcept {
  return As([&] { return RealFiles().Close(fd); });
}

ssize_t FilesAs::Read(int fd, void* into, std::size_t size) noexcept {
  return As([&] { return RealFiles().Read(fd, into, size); });
}

ssize_t FilesAs::PRead(int fd, void* into, std::size_t size, off_t at) noexcept {
  return As([&] { return RealFiles().PRead(fd, into, size, at); });
}

ssize_t FilesAs::Write(int fd, const void* data, std::size_t size) noexcept {
  return As([&] { return RealFiles().Write(fd, data, size); });
}

int FilesAs::FStat(int fd, struct stat* out) noexcept {
  return As([&] { return RealFiles().FStat(fd, out); });
}

int FilesAs::FStatAt(int at, const char* path, struct stat* out, int flags) noexcept {
  return As([&] { return RealFiles().FStatAt(at, path, out, flags); });
}

int FilesAs::FStatFs(int fd, struct statfs* out) noexcept {
  return As([&] { return RealFiles().FStatFs(fd, out); });
}

int FilesAs::AccessAt(int at, const char* path, int mode, int flags) noexcept {
  return As([&] { return RealFiles().AccessAt(at, path, mode, flags); });
}

int FilesAs::MkdirAt(int at, const char* path, mode_t mode) noexcept {
  return As([&] { return RealFiles().MkdirAt(at, path, mode); });
}

int FilesAs::RenameAt(int at, const char* from, int to_at, const char* to) noexcept {
  return As([&] { return RealFiles().RenameAt(at, from, to_at, to); });
}

int FilesAs::UnlinkAt(int at, const char* path, int flags) noexcept {
  return As([&] { return RealFiles().UnlinkAt(at, path, flags); });
}

int FilesAs::Fallocate(int fd, off_t at, off_t size) noexcept {
  return As([&] { return RealFiles().Fallocate(fd, at, size); });
}

void* FilesAs::Map(int fd, std::size_t size) noexcept {
  return As([&] { return RealFiles().Map(fd, size); });
}

int FilesAs::Unmap(void* map, std::size_t size) noexcept {
  return As([&] { return RealFiles().Unmap(map, size); });
}

DIR* FilesAs::OpenDir(int fd) noexcept {
  return As([&] { return RealFiles().OpenDir(fd); });
}

const dirent* FilesAs::ReadDir(DIR* dir) noexcept {
  return As([&] { return RealFiles().ReadDir(dir); });
}

int FilesAs::CloseDir(DIR* dir) noexcept {
  return As([&] { return RealFiles().CloseDir(dir); });
}

ssize_t FilesAs::PWrite(int fd, const void* data, std::size_t size, off_t at) noexcept {
  return As([&] { return RealFiles().PWrite(fd, data, size, at); });
}

int FilesAs::FSync(int fd) noexcept {
  return As([&] { return RealFiles().FSync(fd); });
}

int FilesAs::Truncate(int fd, off_t size) noexcept {
  return As([&] { return RealFiles().Truncate(fd, size); });
}

int FilesAs::Lock(int fd) noexcept {
  return As([&] { return RealFiles().Lock(fd); });
}

}  // namespace goodput
