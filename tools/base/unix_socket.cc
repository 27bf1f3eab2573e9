#include "tools/base/unix_socket.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace goodput {

UnixAddress UnixAddressOf(const std::string& name) {
  UnixAddress result;
  result.address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof(result.address.sun_path)) return result;
  std::memcpy(result.address.sun_path, name.data(), name.size());
  const bool abstract = name.front() == '@';
  if (abstract) result.address.sun_path[0] = '\0';
  // An abstract name is all its bytes; a path ends with a NUL.
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return result;
}

int ConnectUnixSocket(const std::string& name, int type) {
  const UnixAddress address = UnixAddressOf(name);
  if (address.length == 0) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, address.get(), address.length) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace goodput
