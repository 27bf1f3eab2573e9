// What the loops of the node's daemon share.
#pragma once

#include "tools/base/config.h"
#include "tools/goodputd/hang/job_progress.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {

struct NodeContext {
  const Config& config;
  NodeJobs& jobs;
  NodeSpools& spools;               // records
  NodeSpools& log_spools;           // marks read from job output, in files of their own (kLogLabel)
  int stop_fd = -1;                 // becomes readable when the daemon stops
  JobProgress* progress = nullptr;  // told of every sign; null: nobody wants to know
};

}  // namespace goodput
