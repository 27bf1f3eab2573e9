#include "tools/goodputd/signals/signal_trace.h"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/trace_permission.h"

namespace goodput {
namespace {

constexpr int kMaxCpus = 16384;
constexpr std::size_t kMinPages = 8;
constexpr std::size_t kMaxPages = 512;

std::vector<int> KernelsCpus() {
  std::ifstream in("/sys/devices/system/cpu/online");
  std::string list;
  std::getline(in, list);
  return ParseCpuList(list);
}

std::string NotPermitted() {
  const TraceRefusal refusal = ExplainTraceRefusal(ReadTracePermission());
  return Cat("not permitted: ", refusal.why, "; ", refusal.mend);
}

std::string WhyNotTraced(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return NotPermitted();
    case ENOSYS:
    case EOPNOTSUPP:
      return "this kernel cannot trace (CONFIG_PERF_EVENTS, CONFIG_FTRACE)";
    case EMFILE:
      return "too many open files; raise LimitNOFILE to 1000 plus two per CPU";
    default:
      return std::strerror(error);
  }
}

absl::Status NotWatched(int cpu, const char* what) {
  const int error = errno;
  const std::string text = Cat("cannot trace signals on CPU ", cpu, ": ", what, ": ", WhyNotTraced(error));
  return error == EACCES || error == EPERM ? absl::PermissionDeniedError(text) : absl::UnavailableError(text);
}

// `wakeup`: this many samples wake the reader; 0: only a ring that is half full does.
absl::StatusOr<int> OpenTracepoint(int cpu, std::uint64_t id, unsigned wakeup) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.size = sizeof(attr);
  attr.config = id;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attr.disabled = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.wakeup_events = wakeup;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return NotWatched(cpu, "perf_event_open");
  return fd;
}

// Redirects the event into the ring of `into`.
absl::Status Enable(int cpu, int fd, int into) {
  if (fd != into && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into) != 0)
    return NotWatched(cpu, "its ring buffer");
  if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) return NotWatched(cpu, "enabling it");
  return absl::OkStatus();
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (absl::string_view range : absl::StrSplit(ToAbsl(text), ',', absl::SkipWhitespace())) {
    range = absl::StripAsciiWhitespace(range);
    const std::size_t dash = range.find('-');
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(range.substr(0, dash), &first)) continue;
    last = first;
    if (dash != absl::string_view::npos && !absl::SimpleAtoi(range.substr(dash + 1), &last)) continue;
    for (int cpu = std::max(0, first); cpu <= std::min(last, kMaxCpus); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

struct SignalTrace::Ring {
  std::vector<int> fds;  // the first has the buffer
  int also_fd = -1;      // the signals of WatchAlso: the filter of an event cannot be changed
  void* map = MAP_FAILED;
  std::size_t map_size = 0;
  PerfRing ring;

  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (map != MAP_FAILED) munmap(map, map_size);
    if (also_fd >= 0) close(also_fd);
    for (const int fd : fds) close(fd);
  }
};

SignalTrace::SignalTrace(Options options) : options_(std::move(options)) {
  if (!options_.online_cpus) options_.online_cpus = KernelsCpus;
}

SignalTrace::~SignalTrace() {
  rings_.clear();
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

absl::StatusOr<int> SignalTrace::OpenEvent(int cpu, const std::vector<int>& signals) const {
  ASSIGN_OR_RETURN(const int fd, OpenTracepoint(cpu, tracepoints_.signal.id, 1));
  std::string filter;
  for (const int signo : signals) filter += Cat(filter.empty() ? "" : "||", "sig==", signo);
  if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter.c_str()) == 0) return fd;
  const absl::Status status = NotWatched(cpu, "its filter");
  close(fd);
  return status;
}

absl::StatusOr<std::unique_ptr<SignalTrace::Ring>> SignalTrace::OpenCpu(int cpu) const {
  auto ring = std::make_unique<Ring>();
  ASSIGN_OR_RETURN(const int signal_fd, OpenEvent(cpu, options_.signals));
  ring->fds.push_back(signal_fd);
  if (tracepoints_.exec_id != 0) {
    ASSIGN_OR_RETURN(const int fd, OpenTracepoint(cpu, tracepoints_.exec_id, 0));
    ring->fds.push_back(fd);
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t share =
      options_.ring_bytes / page / std::max<std::size_t>(1, options_.online_cpus().size());
  std::size_t pages = kMinPages;
  while (pages * 2 <= std::min(share, kMaxPages)) pages *= 2;
  // Beyond perf_event_mlock_kb (516 KiB per CPU), the kernel requires CAP_IPC_LOCK.
  for (pages *= 2; ring->map == MAP_FAILED && pages > kMinPages;) {
    pages /= 2;
    ring->map_size = (pages + 1) * page;
    ring->map = mmap(nullptr, ring->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fds.front(), 0);
  }
  if (ring->map == MAP_FAILED) return NotWatched(cpu, "its ring buffer");
  ring->ring = PerfRing(ring->map, page, pages * page);
  for (const int fd : ring->fds) {
    RETURN_IF_ERROR(Enable(cpu, fd, ring->fds.front()));
  }
  RETURN_IF_ERROR(WatchAlsoOn(cpu, *ring));
  return ring;
}

absl::Status SignalTrace::Open() {
  if (!options_.kernels_pids) {
    return absl::FailedPreconditionError(
        "cannot trace signals: goodputd runs in its own PID namespace, where process ids differ from those "
        "that the kernel reports; run it in the host's (docker run --pid=host, hostPID: true)");
  }
  ASSIGN_OR_RETURN(const Tracepoints tracepoints, ReadTracepoints());
  tracepoints_ = tracepoints;
  if (!options_.execs) tracepoints_.exec_id = 0;
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0) return absl::UnavailableError(Cat("epoll: ", std::strerror(errno)));
  absl::Status status = RefreshCpus();
  return rings_.empty() && status.ok() ? absl::UnavailableError("no CPU to trace signals on") : status;
}

absl::Status SignalTrace::RefreshCpus() {
  const std::vector<int> online = options_.online_cpus();
  for (auto at = rings_.begin(); at != rings_.end();) {
    if (std::find(online.begin(), online.end(), at->first) != online.end()) {
      ++at;
      continue;
    }
    lost_ += at->second->ring.Drain(tracepoints_, left_, left_execs_);
    at = rings_.erase(at);
  }
  absl::Status first = absl::OkStatus();
  for (const int cpu : online) {
    if (rings_.count(cpu) != 0) continue;
    absl::StatusOr<std::unique_ptr<Ring>> ring = OpenCpu(cpu);
    if (!ring.ok()) {
      first.Update(ring.status());
      continue;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = (*ring)->fds.front();
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, (*ring)->fds.front(), &event) != 0) {
      first.Update(absl::UnavailableError(Cat("epoll: ", std::strerror(errno))));
      continue;
    }
    rings_[cpu] = *std::move(ring);
  }
  return first;
}

absl::Status SignalTrace::WatchAlso(const std::vector<int>& signals) {
  also_ = signals;
  for (const auto& [cpu, ring] : rings_) RETURN_IF_ERROR(WatchAlsoOn(cpu, *ring));
  return absl::OkStatus();
}

absl::Status SignalTrace::WatchAlsoOn(int cpu, Ring& ring) const {
  if (also_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int fd, OpenEvent(cpu, also_));
  const int before = std::exchange(ring.also_fd, fd);
  absl::Status status = Enable(cpu, fd, ring.fds.front());
  // Later than the new one begins, so that no signal goes unseen.
  if (before >= 0) close(before);
  return status;
}

void SignalTrace::Drain(std::vector<SignalSample>& signals, std::vector<ExecSample>& execs) {
  const std::size_t before = signals.size();
  signals.insert(signals.end(), left_.begin(), left_.end());
  left_.clear();
  execs.insert(execs.end(), left_execs_.begin(), left_execs_.end());
  left_execs_.clear();
  for (const auto& [cpu, ring] : rings_) lost_ += ring->ring.Drain(tracepoints_, signals, execs);
  std::sort(signals.begin() + static_cast<std::ptrdiff_t>(before), signals.end(),
            [](const SignalSample& a, const SignalSample& b) { return a.mono_ns < b.mono_ns; });
}

}  // namespace goodput
