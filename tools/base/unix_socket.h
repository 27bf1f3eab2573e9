// The name of a Unix socket as its address: "@name" is abstract, anything else a path.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace goodput {

struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;  // 0: the name is empty or too long to be one
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

UnixAddress UnixAddressOf(const std::string& name);

// A socket of this type connected to `name`, non-blocking; -1 with errno set when nobody listens there,
// EAGAIN when somebody does and takes no more for now.
int ConnectUnixSocket(const std::string& name, int type = SOCK_SEQPACKET);

}  // namespace goodput
