// Watches the checkpoint directory of one job, on the node where the job's first task runs and nowhere else.
#pragma once

#include <memory>

#include "tools/goodputd/job_watches.h"
#include "tools/goodputd/node_context.h"

namespace goodput {

// Looks every max(`checkpoint_scan`, 100 times as long as the shorter of the last two looks), and once more
// when the job's tasks here are gone or the daemon stops. On a file system of this machine it also looks when
// something changes, every max(1 s, 100 times as long) at most. As long as there is nothing to watch (the
// task is still being set up), it looks that often, too.
class CheckpointWatcher : public JobWatcher {
 public:
  static std::unique_ptr<CheckpointWatcher> Make(const NodeContext& node, const NodeJobs::WatchedJob& watched,
                                                 Clock clock = kSystemClock);
  // Steps come and go.
  virtual void SetTasks(const std::vector<pid_t>& tasks) = 0;
};

}  // namespace goodput
