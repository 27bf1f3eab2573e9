// Finds out when a task became the user's program. A SPANK plugin such as pyxis imports, creates and starts a
// container in task_init, after the plugin's task_post_fork; until the process executes the program, it is
// still slurmstepd. The kernel reports the exec (tracepoint sched:sched_process_exec); without tracing, /proc
// is polled. A task that never executes a program was being set up until its end.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "spank/clock.h"
#include "tools/goodputd/node_context.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/processes.h"
#include "tools/goodputd/signals/signal_trace.h"

namespace goodput {

class ExecWatch {
 public:
  ExecWatch(const Processes& processes, Clock clock, StoreRecord store)
      : processes_(processes), clock_(clock), store_(std::move(store)) {}

  // Looks at tasks that have not exited. A task seen as slurmstepd, and later as another program, gets a
  // record task_exec with the time between the two looks. One that had executed its program by the first look
  // gets none: its setup was shorter than the polling interval. Returns the number of tasks that are still
  // slurmstepd.
  int Look(const NodeJobs& jobs);

  // Processes that executed a program. The first exec of a task's own process counts (plugins and the task
  // prolog run in children): it gets a record task_exec, unless it came within 100 ms.
  void Executed(const NodeJobs& jobs, const std::vector<ExecSample>& execs);
  // Call from time to time besides Executed: a task that ended and was never seen as anything but slurmstepd
  // gets a record task_exec at its end.
  void LookForEnded(const NodeJobs& jobs);

 private:
  struct Waiting {
    NodeJobs::LiveTask task;        // kept by value, since its pid may be reused
    std::int64_t seen_mono_ns = 0;  // when it was last seen as slurmstepd
  };
  // `live`: the tasks that have not exited.
  // What was noted of it when it was last seen as slurmstepd; null if it was not.
  const Waiting* WaitingOf(const NodeJobs::LiveTask& task) const;
  void RecordEnded(const NodeJobs& jobs, const std::vector<NodeJobs::LiveTask>& live);
  void Record(const NodeJobs::LiveTask& task, std::int64_t mono_ns);

  const Processes& processes_;
  Clock clock_;
  StoreRecord store_;
  std::map<pid_t, Waiting> waiting_;
  std::map<pid_t, std::int64_t> settled_;  // tasks that execute their program, with their start times
};

// Looks at /proc once a second, and every 50 ms while a task is still slurmstepd, until `stop_fd` becomes
// readable; not while `traced`, when the thread that watches signals tells of programs.
void RunExecWatch(const NodeContext& node, const std::atomic<bool>& traced);

}  // namespace goodput
