// The thread that watches checkpoint directories and output of the jobs on this node.
#pragma once

#include "tools/goodputd/node_context.h"

namespace goodput {

// Until the daemon stops. SPOOL/watches has its counts for `sgoodput doctor`.
void RunJobWatches(const NodeContext& node);

}  // namespace goodput
