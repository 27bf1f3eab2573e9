#include "tools/goodputd/job_threads.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace goodput {

JobThread::JobThread(int stop_fd) : stop_fd_(stop_fd), over_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

JobThread::~JobThread() {
  End();
  if (thread_.joinable()) thread_.join();
  close(over_fd_);
}

void JobThread::Begin(std::function<void()> work) {
  thread_ = std::thread([this, work = std::move(work)] {
    work();
    done_ = true;
  });
}

void JobThread::End() const {
  const std::uint64_t one = 1;
  if (write(over_fd_, &one, sizeof(one)) < 0) return;
}

JobThread::Woken JobThread::Wait(std::int64_t ns) const {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  std::array<pollfd, 2> ends{{{stop_fd_, POLLIN, 0}, {over_fd_, POLLIN, 0}}};
  const std::int64_t ms = std::max<std::int64_t>(0, (ns + kNsPerMs - 1) / kNsPerMs);
  const auto timeout = static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
  if (poll(ends.data(), ends.size(), timeout) <= 0) return Woken::kTimeIsOver;
  return (ends[0].revents & POLLIN) != 0 ? Woken::kDaemonStops : Woken::kJobIsOver;
}

}  // namespace goodput
