#include "tools/goodputd/signals/signal_loop.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/trace_permission.h"
#include "tools/goodputd/counts_file.h"
#include "tools/goodputd/exec_watch.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/processes.h"
#include "tools/goodputd/signals/signal_finder.h"
#include "tools/goodputd/signals/signal_recorder.h"
#include "tools/goodputd/signals/signal_trace.h"

namespace goodput {
namespace {

// Signals that ask for a checkpoint or a stop, or kill; jobs may name more.
const std::vector<int>& DefaultSignals() {
  static const std::vector<int> signals{SIGTERM, SIGKILL, SIGUSR1, SIGUSR2, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
  return signals;
}

// For all CPUs together: on a machine with 208, 128 KiB each.
constexpr std::size_t kRingBytes = std::size_t{32} << 20U;
constexpr int kNice = -15;
constexpr int kIdleMs = 1000;
constexpr std::int64_t kCpusNs = 5'000'000'000;
constexpr std::int64_t kEndedNs = 1'000'000'000;
// After a busy turn, the rings fill for this long before the next one, so that a storm wakes the daemon a
// hundred times a second and not for each signal.
constexpr std::size_t kBusySamples = 64;
constexpr std::int64_t kPauseNs = 10'000'000;
// The kernel's event may precede the plugin's record, which is written after the fork: look again once after
// this time.
constexpr std::int64_t kSecondLookNs = 50'000'000;
constexpr std::size_t kMaxWaiting = 4096;

class SignalLoop {
 public:
  explicit SignalLoop(const NodeContext& node)
      : jobs_(node.jobs),
        finder_(jobs_, RealProcesses()),
        recorder_(node.spools.store()),
        execs_(RealProcesses(), kSystemClock, node.spools.store()),
        trace_({DefaultSignals(), kRingBytes, {}, HasKernelsPids()}),
        counts_(node.config.spool + "/signals") {
    counts_.Read(Counts());
    before_ = totals_;
  }

  absl::Status Open() {
    absl::Status status = trace_.Open();
    totals_.watching = status.ok() ? 1 : 0;
    totals_.other_pids = absl::IsFailedPrecondition(status) ? 1 : 0;
    totals_.refused = absl::IsPermissionDenied(status) ? 1 : 0;
    const TracePermission has = ReadTracePermission();
    totals_.perfmon = has.perfmon ? 1 : 0;
    totals_.sys_admin = has.sys_admin ? 1 : 0;
    WriteCounts();
    return status;
  }
  bool watches_execs() const { return trace_.watches_execs(); }

  // Writes to the spool, for doctor, that signals are not traced; the plugin creates the folder at the first
  // job.
  void SayUntilKnown(int stop_fd) {
    pollfd stop{stop_fd, POLLIN, 0};
    while (!counts_.Write(Counts()) && poll(&stop, 1, kIdleMs) == 0) {
    }
  }

  void Run(int stop_fd) {
    std::array<pollfd, 2> polled{{{stop_fd, POLLIN, 0}, {trace_.poll_fd(), POLLIN, 0}}};
    while (true) {
      const int ready = poll(polled.data(), polled.size(), waiting_.empty() ? kIdleMs : kSecondLookMs);
      const bool stop = ready > 0 && polled[0].revents != 0;
      const std::size_t taken = Turn(stop);
      if (stop) break;
      // The ring of a CPU that went offline stays readable for ever.
      if (ready > 0 && polled[1].revents != 0 && taken == 0) RefreshCpus();
      if (taken >= kBusySamples) {
        const timespec pause{0, kPauseNs};
        nanosleep(&pause, nullptr);
      }
    }
  }

 private:
  static constexpr int kSecondLookMs = kSecondLookNs / 1'000'000;

  std::size_t Turn(bool last) {
    samples_.clear();
    executed_.clear();
    trace_.Drain(samples_, executed_);
    const std::int64_t now = kSystemClock.mono_ns();
    if (!samples_.empty() || !executed_.empty() || !waiting_.empty() || now >= next_refresh_) {
      jobs_.Refresh();
      next_refresh_ = now + 1'000'000'000;
    }
    finder_.BeginBatch();
    TakeWaiting(now, last);
    for (const SignalSample& sample : samples_) {
      if (const auto signal = finder_.Find(sample)) {
        recorder_.Take(*signal);
      } else if (!last && waiting_.size() < kMaxWaiting) {
        waiting_.push_back(sample);
      }
    }
    recorder_.Flush(last);
    execs_.Executed(jobs_, executed_);
    if (watches_execs() && now >= next_ended_) {
      execs_.LookForEnded(jobs_);
      next_ended_ = now + kEndedNs;
    }
    if (now >= next_cpus_) {
      RefreshCpus();
      next_cpus_ = now + kCpusNs;
    }
    WatchNamedSignals();
    WriteCounts();
    return samples_.size() + executed_.size();
  }

  void TakeWaiting(std::int64_t now, bool last) {
    const auto due = std::find_if(waiting_.begin(), waiting_.end(), [&](const SignalSample& sample) {
      return !last && now - sample.mono_ns < kSecondLookNs;
    });
    for (auto sample = waiting_.begin(); sample != due; ++sample) {
      if (const auto signal = finder_.Find(*sample)) recorder_.Take(*signal);
    }
    waiting_.erase(waiting_.begin(), due);
  }

  void RefreshCpus() {
    const absl::Status status = trace_.RefreshCpus();
    cpu_trouble_.Say(status.ok() ? "" : Message(status));
  }

  void WatchNamedSignals() {
    const std::vector<int> named = jobs_.NamedSignals();
    if (named.size() == named_) return;
    named_ = named.size();
    std::vector<int> also;
    for (const int signo : named) {
      const std::vector<int>& watched = DefaultSignals();
      if (std::find(watched.begin(), watched.end(), signo) == watched.end()) also.push_back(signo);
    }
    const absl::Status status = trace_.WatchAlso(also);
    if (!status.ok()) Log(Message(status));
  }

  CountsFile::Names Counts() {
    return {{"watching", &totals_.watching},     {"other_pids", &totals_.other_pids},
            {"refused", &totals_.refused},       {"perfmon", &totals_.perfmon},
            {"sys_admin", &totals_.sys_admin},   {"recorded", &totals_.recorded},
            {"not_stored", &totals_.not_stored}, {"lost", &totals_.lost}};
  }

  void WriteCounts() {
    totals_.recorded = before_.recorded + recorder_.stored();
    totals_.not_stored = before_.not_stored + recorder_.dropped();
    totals_.lost = before_.lost + trace_.lost();
    if (trace_.lost() != lost_said_ && kSystemClock.mono_ns() >= next_lost_) {
      Log(Cat("the kernel dropped ", trace_.lost() - lost_said_,
              " signal samples because they arrived faster than goodputd could read them"));
      lost_said_ = trace_.lost();
      next_lost_ = kSystemClock.mono_ns() + 60'000'000'000;
    }
    const std::int64_t now = kSystemClock.mono_ns();
    if (now < next_counts_) return;
    counts_.Write(Counts());
    next_counts_ = now + 1'000'000'000;
  }

  struct Totals {
    std::uint64_t watching = 0;
    std::uint64_t other_pids = 0;  // 1: in its own PID namespace
    std::uint64_t refused = 0;     // 1: the kernel does not permit it
    std::uint64_t perfmon = 0;     // 1: goodputd has CAP_PERFMON
    std::uint64_t sys_admin = 0;   // 1: goodputd has CAP_SYS_ADMIN
    std::uint64_t recorded = 0;
    std::uint64_t not_stored = 0;
    std::uint64_t lost = 0;
  };

  NodeJobs& jobs_;
  SignalFinder finder_;
  SignalRecorder recorder_;
  ExecWatch execs_;
  SignalTrace trace_;
  CountsFile counts_;
  Complaint cpu_trouble_;
  Totals totals_;
  Totals before_;  // in the file when the daemon started
  std::vector<SignalSample> samples_;
  std::vector<ExecSample> executed_;
  std::vector<SignalSample> waiting_;  // those whose jobs are not known yet
  std::size_t named_ = 0;
  std::uint64_t lost_said_ = 0;
  std::int64_t next_refresh_ = 0;
  std::int64_t next_ended_ = 0;
  std::int64_t next_cpus_ = 0;
  std::int64_t next_counts_ = 0;
  std::int64_t next_lost_ = 0;
};

}  // namespace

void RunSignalLoop(const NodeContext& node, std::atomic<bool>& execs_traced) {
  SignalLoop loop(node);
  if (const absl::Status status = loop.Open(); !status.ok()) {
    Log(Cat(Message(status), "; checkpoint signals are inferred from exit statuses and the scheduler only"));
    loop.SayUntilKnown(node.stop_fd);
    return;
  }
  // The rings hold a second of a storm, so on a busy node the thread must run within that time. Without it (a
  // container without CAP_SYS_NICE), samples may be lost; they are counted.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
  execs_traced = loop.watches_execs();
  loop.Run(node.stop_fd);
}

}  // namespace goodput
