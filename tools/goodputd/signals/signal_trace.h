// Signals as the kernel generates them, and processes as they execute a program, on the whole machine:
// perf_event_open on the tracepoints signal:signal_generate and sched:sched_process_exec, a ring buffer a
// CPU. Nothing of it touches the processes concerned. A signal wakes the reader; a program that is executed
// waits for its next look.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/goodputd/signals/tracepoint.h"

namespace goodput {

struct SignalSample {
  std::int64_t mono_ns = 0;  // CLOCK_MONOTONIC
  pid_t sender = 0;          // the process that was running; it sent the signal only if `code` says so
  pid_t target_thread = 0;
  int signo = 0;
  int code = 0;      // si_code
  int result = 0;    // 0 delivered, 1 ignored, 2 pending already, others: lost for want of memory
  std::string comm;  // of the target
};

// A process executed a program.
struct ExecSample {
  std::int64_t mono_ns = 0;  // CLOCK_MONOTONIC
  pid_t process = 0;
};

// A perf ring buffer that the kernel writes and we read, as it lies in memory.
class PerfRing {
 public:
  PerfRing() = default;
  // `page`: the mapped control page, the data behind it; `data_size` a power of two.
  PerfRing(void* page, std::size_t page_size, std::size_t data_size)
      : page_(page), page_size_(page_size), data_size_(data_size) {}
  // Appends the samples that came; returns how many the kernel had to drop since the last call.
  std::uint64_t Drain(const Tracepoints& tracepoints, std::vector<SignalSample>& signals,
                      std::vector<ExecSample>& execs);

 private:
  void* page_ = nullptr;
  std::size_t page_size_ = 0;
  std::size_t data_size_ = 0;
  std::vector<unsigned char> record_;
};

class SignalTrace {
 public:
  struct Options {
    std::vector<int> signals;  // of interest
    // Memory of all rings together, of which the kernel keeps every page.
    std::size_t ring_bytes = std::size_t{32} << 20U;
    std::function<std::vector<int>()> online_cpus;  // empty: the kernel's word
    bool kernels_pids = true;                       // HasKernelsPids()
    bool execs = true;                              // also when a process executes a program
  };
  explicit SignalTrace(Options options);
  ~SignalTrace();
  SignalTrace(const SignalTrace&) = delete;
  SignalTrace& operator=(const SignalTrace&) = delete;

  // An error says in one line why signals cannot be watched here, and what would mend it: FailedPrecondition
  // where the kernel's ids of processes would be taken for those of others here.
  absl::Status Open();
  // CPUs that came get a ring, those that went lose theirs. An error names the first that could not be
  // watched; the others are.
  absl::Status RefreshCpus();
  // Watches these as well as Options::signals, in place of those given before. They must not be among
  // Options::signals. A signal at the very moment of the change may be sampled twice.
  absl::Status WatchAlso(const std::vector<int>& signals);

  // Readable when a signal came.
  int poll_fd() const { return epoll_fd_; }
  // Appends what came: signals by time, programs as they lie in the rings.
  void Drain(std::vector<SignalSample>& signals, std::vector<ExecSample>& execs);
  // Whether it is told when a process executes a program.
  bool watches_execs() const { return tracepoints_.exec_id != 0; }
  // Samples the kernel dropped as a ring was full, since Open.
  std::uint64_t lost() const { return lost_; }
  int cpus() const { return static_cast<int>(rings_.size()); }

 private:
  struct Ring;
  absl::StatusOr<int> OpenEvent(int cpu, const std::vector<int>& signals) const;
  absl::StatusOr<std::unique_ptr<Ring>> OpenCpu(int cpu) const;
  absl::Status WatchAlsoOn(int cpu, Ring& ring) const;

  Options options_;
  std::vector<int> also_;
  Tracepoints tracepoints_;
  std::map<int, std::unique_ptr<Ring>> rings_;
  int epoll_fd_ = -1;
  std::uint64_t lost_ = 0;
  // By rings that are gone.
  std::vector<SignalSample> left_;
  std::vector<ExecSample> left_execs_;
};

// "0-3,8" as numbers: /sys/devices/system/cpu/online.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace goodput
