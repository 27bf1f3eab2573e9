// Decides which jobs of this node are looked at because they make no progress: each stall once.
//
// A job has stalled if its last sign of progress is older than `after_ns`, and than 5 times the longest time
// between two of its last signs, as in reports. A user's looks are limited, so that nobody lets goodputd look
// at jobs all the time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/goodputd/hang/job_progress.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

struct StalledJob {
  std::shared_ptr<const NodeJob> job;
  std::string slurm_step;         // of the tasks
  std::int64_t last_mono_ns = 0;  // the last sign of progress
  pid_t batch_pid = 0;            // of the batch script; 0: it does not run here
  struct Task {
    std::int64_t task = 0;  // global rank
    pid_t pid = 0;
  };
  std::vector<Task> tasks;  // of the numbered step with most tasks here, or else the script; by rank
};

class StalledJobs {
 public:
  struct Options {
    std::int64_t after_ns = 0;
    double looks_an_hour = 30;  // at the jobs of one user; as many at once
  };
  // `progress` must outlive this.
  StalledJobs(Options options, JobProgress& progress) : options_(options), progress_(progress) {}

  // Those to look at now. `live`: all tasks that run here.
  std::vector<StalledJob> Find(const std::vector<NodeJobs::LiveTask>& live, std::int64_t mono_ns);

 private:
  struct Budget {
    double left = 0;
    std::int64_t at_ns = 0;
  };
  bool MayLook(uid_t uid, std::int64_t mono_ns);

  const Options options_;
  JobProgress& progress_;
  std::map<JobProgress::Job, std::int64_t> looked_;  // the last sign of the stall that was looked at
  std::map<uid_t, Budget> budgets_;
};

}  // namespace goodput
