#include "tools/base/database_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestHolder = 256;

std::string LockFile(const std::string& path) {
  return path + ".lock";
}

std::string ReadHolder(int fd) {
  std::array<char, kLongestHolder> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? "another process" : holder;
}

}  // namespace

absl::StatusOr<DatabaseLock> DatabaseLock::Take(const std::string& path) {
  const std::string file = LockFile(path);
  // The folder may be a user's that is not to be trusted: no link is followed.
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0) return absl::PermissionDeniedError(Cat("cannot open ", file, ": ", std::strerror(errno)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string holder = ReadHolder(fd);
    close(fd);
    if (error != EWOULDBLOCK)
      return absl::InternalError(Cat("cannot lock ", file, ": ", std::strerror(error)));
    return absl::UnavailableError(Cat(holder, " fills the database ", path, "; waiting for its end"));
  }
  std::array<char, kLongestHolder> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string holder = Cat("goodputd ", getpid(), " on ", host.data(), "\n");
  // Who it is helps people; the lock does not depend on it.
  if (ftruncate(fd, 0) != 0 || pwrite(fd, holder.data(), holder.size(), 0) < 0) errno = 0;
  return DatabaseLock(fd);
}

std::string DatabaseLock::Holder(const std::string& path) {
  const int fd = open(LockFile(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return "";
  std::string holder;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = ReadHolder(fd);
  close(fd);
  return holder;
}

DatabaseLock::~DatabaseLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace goodput
