#include "tools/goodputd/reload.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sql/text.h"

namespace goodput {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START

}  // namespace

absl::Status StartAnew(char** argv, const std::vector<int>& fds) {
  // Moved out of the way first, since a descriptor may have the number that another is to get.
  std::vector<int> aside;
  for (const int fd : fds) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, kFirstPassed + static_cast<int>(fds.size()));
    if (copy < 0) return absl::InternalError(Cat("cannot keep a socket: ", std::strerror(errno)));
    aside.push_back(copy);
  }
  for (std::size_t i = 0; i < aside.size(); ++i) {
    if (dup2(aside[i], kFirstPassed + static_cast<int>(i)) < 0)
      return absl::InternalError(Cat("cannot keep a socket: ", std::strerror(errno)));
  }
  // Threads that still wait for Slurm do not read the environment.
  setenv("LISTEN_PID", Cat(getpid()).c_str(), 1);    // NOLINT(concurrency-mt-unsafe)
  setenv("LISTEN_FDS", Cat(fds.size()).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  execv("/proc/self/exe", argv);
  return absl::InternalError(Cat("cannot restart: ", std::strerror(errno)));
}

}  // namespace goodput
