// The node daemon's thread that reads the kernel's log and records faulty hardware for the jobs on the node.
#pragma once

#include "tools/goodputd/node_context.h"

namespace goodput {

// The counters that this thread writes for `sgoodput doctor`, below the spool.
inline constexpr const char* kKernelCountsFile = "/kernel";

// Returns when `stop_fd` becomes readable; at once if goodput.conf says so. `passed`: an open descriptor of
// the log; -1: none.
void RunKernelLoop(const NodeContext& node, int passed);

}  // namespace goodput
