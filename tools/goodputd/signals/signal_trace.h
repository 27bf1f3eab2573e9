// Traces signals as the kernel generates them, and execs, on the whole machine: perf_event_open on the
// tracepoints signal:signal_generate and sched:sched_process_exec, one ring buffer per CPU. Does not affect
// the processes. A signal wakes the reader; an exec waits for the next read.
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
  pid_t sender = 0;          // the running process; `code` tells whether it sent the signal
  pid_t target_thread = 0;
  int signo = 0;
  int code = 0;      // si_code
  int result = 0;    // 0 delivered, 1 ignored, 2 already pending, others: lost because memory ran out
  std::string comm;  // of the target
};

// A process executed a program.
struct ExecSample {
  std::int64_t mono_ns = 0;  // CLOCK_MONOTONIC
  pid_t process = 0;
};

// A perf ring buffer, written by the kernel and read here, in its memory layout.
class PerfRing {
 public:
  PerfRing() = default;
  // `page`: the mapped control page, followed by the data; `data_size` is a power of two.
  PerfRing(void* page, std::size_t page_size, std::size_t data_size)
      : page_(page), page_size_(page_size), data_size_(data_size) {}
  // Appends new samples; returns how many the kernel dropped since the last call.
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
    std::vector<int> signals;  // to trace
    // Memory of all rings together; the kernel locks all of it.
    std::size_t ring_bytes = std::size_t{32} << 20U;
    std::function<std::vector<int>()> online_cpus;  // empty: ask the kernel
    bool kernels_pids = true;                       // HasKernelsPids()
    bool execs = true;                              // also trace execs
  };
  explicit SignalTrace(Options options);
  ~SignalTrace();
  SignalTrace(const SignalTrace&) = delete;
  SignalTrace& operator=(const SignalTrace&) = delete;

  // An error says in one line why signals cannot be traced and how to fix it: FailedPrecondition if the
  // kernel's process ids would be mistaken for others here.
  absl::Status Open();
  // Adds rings for new CPUs and removes those of CPUs that went offline. An error names the first CPU that
  // cannot be traced; the others are.
  absl::Status RefreshCpus();
  // Watches these as well as Options::signals, in place of those given before. They must not be among
  // Options::signals. A signal at the very moment of the change may be sampled twice.
  absl::Status WatchAlso(const std::vector<int>& signals);

  // Readable when there is a signal.
  int poll_fd() const { return epoll_fd_; }
  // Appends new samples: signals sorted by time, execs in the order of the rings.
  void Drain(std::vector<SignalSample>& signals, std::vector<ExecSample>& execs);
  // Whether execs are traced.
  bool watches_execs() const { return tracepoints_.exec_id != 0; }
  // Samples that the kernel dropped because a ring was full, since Open.
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
  // Samples of removed rings.
  std::vector<SignalSample> left_;
  std::vector<ExecSample> left_execs_;
};

// Parses "0-3,8", the format of /sys/devices/system/cpu/online.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace goodput
