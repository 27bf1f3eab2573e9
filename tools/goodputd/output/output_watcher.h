// Follows the output of one job that named a log profile, on the node where its batch script or first task
// runs, and records what it says as marks.
#pragma once

#include <memory>

#include "tools/goodputd/job_watches.h"
#include "tools/goodputd/node_context.h"

namespace goodput {

// A daemon that stops leaves the job to the next one, which continues where this one was.
std::unique_ptr<JobWatcher> MakeOutputWatcher(const NodeContext& node, const NodeJobs::OutputJob& output,
                                              Clock clock = kSystemClock);

}  // namespace goodput
