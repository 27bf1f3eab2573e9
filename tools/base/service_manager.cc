#include "tools/base/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "sql/text.h"
#include "tools/base/unix_socket.h"

namespace goodput {
namespace {

constexpr int kFirstPassed = 3;        // SD_LISTEN_FDS_START
constexpr int kMaxPassed = 64 * 1024;  // more than any sensible FileDescriptorStoreMax

bool Send(std::string_view state, int fd, absl::Duration wait) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return false;
  const UnixAddress address = UnixAddressOf(name);
  if (address.length == 0) return false;
  const int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (to < 0) return false;
  const bool waits = wait > absl::ZeroDuration();
  // A timeout of 0 would mean for ever.
  const timeval timeout = absl::ToTimeval(absl::Ceil(wait, absl::Microseconds(1)));
  if (waits) setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  iovec text{const_cast<char*>(state.data()), state.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(address.get());
  message.msg_namelen = address.length;
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  const int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
  const bool sent = sendmsg(to, &message, flags) == static_cast<ssize_t>(state.size());
  close(to);
  return sent;
}

}  // namespace

std::vector<int> PassedDescriptors() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  int passed = 0;
  if (pid == nullptr || count == nullptr || Cat(getpid()) != pid || !absl::SimpleAtoi(count, &passed))
    return {};
  std::vector<int> fds;
  for (int fd = kFirstPassed; fd < kFirstPassed + passed && passed <= kMaxPassed; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0) continue;
    fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    fds.push_back(fd);
  }
  return fds;
}

bool IsListening(int fd) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

bool NotifyManager(std::string_view state) {
  return Send(state, -1, absl::ZeroDuration());
}

bool StoreDescriptor(int fd, absl::Duration wait) {
  return Send("FDSTORE=1\nFDNAME=mark", fd, wait);
}

}  // namespace goodput
