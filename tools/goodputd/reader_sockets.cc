#include "tools/goodputd/reader_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sql/text.h"
#include "tools/base/unix_socket.h"

namespace goodput {
namespace {

constexpr int kBacklog = 128;
constexpr mode_t kEveryone = 0666;
constexpr mode_t kFolderMode = 0755;

absl::Status Failed(const std::string& where, const char* what) {
  return absl::UnavailableError(Cat("cannot listen at ", where, ": ", what, ": ", std::strerror(errno)));
}

class Closer {
 public:
  explicit Closer(int fd) : fd_(fd) {}
  ~Closer() {
    if (fd_ >= 0) close(fd_);
  }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  int get() const { return fd_; }
  int Keep() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

// Whether a process listens there; a stale socket refuses connections.
bool SomebodyListens(const std::string& path) {
  const Closer probe(ConnectUnixSocket(path, SOCK_STREAM));
  return probe.get() >= 0 || errno == EAGAIN;
}

}  // namespace

absl::StatusOr<int> ListenTcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const absl::Status bad = absl::InvalidArgumentError(
      Cat("`listen` must be ADDRESS:PORT such as 127.0.0.1:9645, not '", address, "'"));
  if (colon == std::string::npos || colon == 0) return bad;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0 || found == nullptr)
    return bad;
  Closer fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (found->ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  const bool bound = fd.get() >= 0 && bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                     listen(fd.get(), kBacklog) == 0;
  const absl::Status why = bound ? absl::OkStatus() : Failed(address, "bind");
  freeaddrinfo(found);
  if (!why.ok()) return why;
  return fd.Keep();
}

absl::StatusOr<int> ListenUnix(const std::string& path) {
  const UnixAddress address = UnixAddressOf(path);
  if (path.empty() || path.front() != '/' || address.length == 0) {
    return absl::InvalidArgumentError(
        Cat("`query_socket` must be an absolute path of at most 100 bytes, not '", path, "'"));
  }
  mkdir(std::filesystem::path(path).parent_path().c_str(), kFolderMode);
  Closer fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return Failed(path, "socket");
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return absl::UnavailableError(Cat("cannot listen at ", path, ": not a socket; remove it"));
    if (SomebodyListens(path))
      return absl::UnavailableError(Cat("cannot listen at ", path, ": another process listens there"));
    unlink(path.c_str());
  }
  if (bind(fd.get(), address.get(), address.length) != 0) return Failed(path, "bind");
  if (chmod(path.c_str(), kEveryone) != 0) return Failed(path, "chmod");
  if (listen(fd.get(), kBacklog) != 0) return Failed(path, "listen");
  return fd.Keep();
}

}  // namespace goodput
