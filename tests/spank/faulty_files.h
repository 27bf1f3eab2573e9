// File system calls of which one, chosen by its number, goes wrong.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spank/files.h"

class FaultyFiles final : public goodput::Files {
 public:
  struct Fault {
    int error = 0;  // the call fails with this error
    // How many bytes a read or write transfers, if not negative: all except the last `spared`, or `moved`.
    int64_t moved = -1;
    int64_t spared = -1;
    bool lasting = false;           // every later call, too
    bool only_descriptors = false;  // only calls that need a new descriptor
    std::function<void()> before;   // runs just before the call
  };

  FaultyFiles() = default;
  // `at`: the number of the call, from 1.
  FaultyFiles(int at, Fault fault) : at_(at), fault_(std::move(fault)) {}

  int calls() const { return static_cast<int>(names_.size()); }
  // Whether the fault occurred.
  bool struck() const { return struck_; }
  // The name of the first call that it affected.
  std::string where() const {
    return at_ > 0 && at_ <= calls() ? names_[static_cast<std::size_t>(at_ - 1)] : "";
  }
  // Removes the fault.
  void Mend() { at_ = 0; }

  int OpenAt(int at, const char* path, int flags, mode_t mode) noexcept override {
    return Fails("openat", true) ? -1 : real_.OpenAt(at, path, flags, mode);
  }
  int Close(int fd) noexcept override {
    const int error = Fails("close") ? errno : 0;
    const int result = real_.Close(fd);  // Linux closes the descriptor even if close() fails
    return error == 0 ? result : Failed(error);
  }
  ssize_t Read(int fd, void* into, std::size_t size) noexcept override {
    return Fails("read") ? -1 : real_.Read(fd, into, Size(size));
  }
  ssize_t PRead(int fd, void* into, std::size_t size, off_t at) noexcept override {
    return Fails("pread") ? -1 : real_.PRead(fd, into, Size(size), at);
  }
  ssize_t Write(int fd, const void* data, std::size_t size) noexcept override {
    return Fails("write") ? -1 : real_.Write(fd, data, Size(size));
  }
  int FStat(int fd, struct stat* out) noexcept override { return Fails("fstat") ? -1 : real_.FStat(fd, out); }
  int FStatAt(int at, const char* path, struct stat* out, int flags) noexcept override {
    return Fails("fstatat") ? -1 : real_.FStatAt(at, path, out, flags);
  }
  int FStatFs(int fd, struct statfs* out) noexcept override {
    return Fails("fstatfs") ? -1 : real_.FStatFs(fd, out);
  }
  int AccessAt(int at, const char* path, int mode, int flags) noexcept override {
    return Fails("faccessat") ? -1 : real_.AccessAt(at, path, mode, flags);
  }
  int MkdirAt(int at, const char* path, mode_t mode) noexcept override {
    return Fails("mkdirat") ? -1 : real_.MkdirAt(at, path, mode);
  }
  int RenameAt(int at, const char* from, int to_at, const char* to) noexcept override {
    return Fails("renameat") ? -1 : real_.RenameAt(at, from, to_at, to);
  }
  int UnlinkAt(int at, const char* path, int flags) noexcept override {
    return Fails("unlinkat") ? -1 : real_.UnlinkAt(at, path, flags);
  }
  int Fallocate(int fd, off_t at, off_t size) noexcept override {
    return Fails("fallocate") ? errno : real_.Fallocate(fd, at, size);
  }
  void* Map(int fd, std::size_t size) noexcept override {
    return Fails("mmap") ? reinterpret_cast<void*>(-1) : real_.Map(fd, size);
  }
  int Unmap(void* map, std::size_t size) noexcept override {
    Fails("munmap");
    return real_.Unmap(map, size);
  }
  DIR* OpenDir(int fd) noexcept override { return Fails("fdopendir") ? nullptr : real_.OpenDir(fd); }
  const dirent* ReadDir(DIR* dir) noexcept override {
    return Fails("readdir") ? nullptr : real_.ReadDir(dir);
  }
  int CloseDir(DIR* dir) noexcept override {
    Fails("closedir");
    return real_.CloseDir(dir);
  }
  ssize_t PWrite(int fd, const void* data, std::size_t size, off_t at) noexcept override {
    return Fails("pwrite") ? -1 : real_.PWrite(fd, data, Size(size), at);
  }
  int FSync(int fd) noexcept override { return Fails("fsync") ? -1 : real_.FSync(fd); }
  int Truncate(int fd, off_t size) noexcept override {
    return Fails("ftruncate") ? -1 : real_.Truncate(fd, size);
  }
  int Lock(int fd) noexcept override { return Fails("flock") ? -1 : real_.Lock(fd); }

 private:
  static int Failed(int error) {
    errno = error;
    return -1;
  }
  bool Fails(const char* name, bool needs_descriptor = false) {
    names_.emplace_back(name);
    shorten_ = false;
    const bool due = at_ > 0 && (fault_.lasting ? calls() >= at_ : calls() == at_);
    if (!due || (fault_.only_descriptors && !needs_descriptor)) return false;
    struck_ = true;
    const int error = errno;
    if (fault_.before) fault_.before();
    errno = error;
    shorten_ = true;
    if (fault_.error == 0) return false;
    errno = fault_.error;
    return true;
  }
  std::size_t Size(std::size_t size) const {
    if (!shorten_) return size;
    const auto whole = static_cast<int64_t>(size);
    int64_t moved = fault_.moved >= 0 ? std::min(fault_.moved, whole) : whole;
    if (fault_.spared >= 0) moved = std::max<int64_t>(0, whole - fault_.spared);
    return static_cast<std::size_t>(moved);
  }

  goodput::Files& real_ = goodput::RealFiles();
  int at_ = 0;
  Fault fault_;
  std::vector<std::string> names_;
  bool struck_ = false;
  bool shorten_ = false;
};
