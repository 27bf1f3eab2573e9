// The node daemon's thread that attributes kernel signal and exec events to jobs and records them.
#pragma once

#include <atomic>

#include "tools/goodputd/node_context.h"

namespace goodput {

// Returns when `stop_fd` becomes readable, all that was seen until then written; at once, after one line in
// the log, where signals cannot be watched. SPOOL/signals has its counts for `sgoodput doctor`. Sets
// `execs_traced` while it tells of programs.
void RunSignalLoop(const NodeContext& node, std::atomic<bool>& execs_traced);

}  // namespace goodput
