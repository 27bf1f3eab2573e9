// Follows the output of one job that named a log profile, on the node where its batch script or first task
// runs, and records what it says as marks.
#pragma once

#include <memory>

#include "tools/goodputd/job_watches.h"
#include "tools/goodputd/node_context.h"
#include "tools/goodputd/output/ended_outputs.h"

namespace goodput {

// A daemon that stops leaves the job to the next one, which continues where this one was. `ended` must
// outlive the watcher.
std::unique_ptr<JobWatcher> MakeOutputWatcher(const NodeContext& node, const NodeJobs::OutputJob& output,
                                              EndedOutputs& ended, Clock clock = kSystemClock);

}  // namespace goodput
