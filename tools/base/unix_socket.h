// Addresses and connections of Unix sockets: the name "@name" is abstract, anything else is a path.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace goodput {

struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;  // 0: the name is empty or too long
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

UnixAddress UnixAddressOf(const std::string& name);

// Connects a non-blocking socket of this type to `name`. Returns -1 with errno set if nothing listens there;
// EAGAIN if the listener accepts no more connections for now.
int ConnectUnixSocket(const std::string& name, int type = SOCK_SEQPACKET);

}  // namespace goodput
