// Attributes a signal sampled by the kernel to a job, step and task.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "spank/clock.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/processes.h"
#include "tools/goodputd/signals/signal_trace.h"

namespace goodput {

enum class SignalSender : std::uint8_t { kUnknown, kSlurmstepd, kSelf, kJob, kOutside, kKernel };
std::string_view SignalSenderName(SignalSender sender);  // empty for kUnknown

// A signal to a process of a job.
struct JobSignal {
  std::int64_t mono_ns = 0;
  int signo = 0;
  NodeStep step;
  std::optional<int> task;  // the target's task, or the one from which it descends
  bool is_task = false;     // the target is the process that Slurm started
  pid_t target = 0;
  std::string comm;
  SignalSender sender = SignalSender::kUnknown;
  pid_t sender_pid = 0;         // 0: no process sent it
  std::optional<bool> handled;  // caught or blocked
  bool ignored = false;
};

class SignalFinder {
 public:
  SignalFinder(const NodeJobs& jobs, const Processes& processes) : jobs_(jobs), processes_(processes) {}

  // Information about processes is cached until this is called: signals of a storm come in batches.
  void BeginBatch() { looked_at_.clear(); }

  // Empty: it was neither sent to a process of a job on this node nor from its slurmstepd.
  std::optional<JobSignal> Find(const SignalSample& sample);

 private:
  struct Home {
    NodeStep step;
    std::optional<int> task;
    bool is_task = false;
  };
  std::optional<Home> HomeOf(pid_t process, std::int64_t mono_ns, const std::optional<ProcessStatus>& status);
  const std::optional<ProcessStatus>& StatusOf(pid_t thread);
  std::optional<Home> HomeByCgroup(pid_t process) const;
  // Remembers a process for its later signals, when it may be gone.
  void Remember(pid_t process, const Home& home, std::int64_t mono_ns);

  struct Remembered {
    Home home;
    std::int64_t mono_ns = 0;
  };
  const NodeJobs& jobs_;
  const Processes& processes_;
  std::map<pid_t, Remembered> remembered_;
  std::map<pid_t, std::optional<ProcessStatus>> looked_at_;
};

// The job and step in a cgroup path of Slurm: ".../job_8/step_0/...", for both versions of cgroups.
struct CgroupStep {
  std::int64_t job = 0;
  std::string slurm_step;
  std::string node;  // if slurmd adds it to the path (several nodes on one host)
};
std::optional<CgroupStep> ParseCgroupStep(std::string_view paths);

}  // namespace goodput
