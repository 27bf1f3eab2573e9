// When a task became the user's program. A SPANK plugin such as pyxis imports, creates and starts a container
// in task_init, behind the plugin's task_post_fork: until the process executes the program it is still
// slurmstepd. The kernel tells when it does (tracepoint sched:sched_process_exec); where it may not be
// traced, /proc is looked at. One that never executes it was being set up until it ended.
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

  // Looks at the tasks that have not exited. A task that is seen as slurmstepd, and later as another program,
  // gets a record task_exec of the moment between the two looks. One that had executed its program by the
  // first look gets none: the time it took is shorter than the looks are apart. Returns how many tasks are
  // still slurmstepd.
  int Look(const NodeJobs& jobs);

  // Processes that executed a program. The first one of a task is its own (what plugins and the task prolog
  // execute are children): it gets a record task_exec, unless it took less than 100 ms to come to it.
  void Executed(const NodeJobs& jobs, const std::vector<ExecSample>& execs);
  // Beside Executed, now and then: a task that ended and that nobody saw as anything but slurmstepd gets a
  // record task_exec of its end.
  void LookForEnded(const NodeJobs& jobs);

 private:
  struct Waiting {
    NodeJobs::LiveTask task;        // its pid may be used again
    std::int64_t seen_mono_ns = 0;  // last seen as slurmstepd
  };
  // `live`: the tasks that have not exited.
  void RecordEnded(const NodeJobs& jobs, const std::vector<NodeJobs::LiveTask>& live);
  void Record(const NodeJobs::LiveTask& task, std::int64_t mono_ns);

  const Processes& processes_;
  Clock clock_;
  StoreRecord store_;
  std::map<pid_t, Waiting> waiting_;
  std::map<pid_t, std::int64_t> settled_;  // tasks that execute their program, by when they began
};

// Looks at /proc once a second, and every 50 ms while a task is still slurmstepd, until `stop_fd` becomes
// readable; not while `traced`, when the thread that watches signals tells of programs.
void RunExecWatch(const NodeContext& node, const std::atomic<bool>& traced);

}  // namespace goodput
