// goodputd's loop on the controller: ingests new spool records and reads accounting.
#pragma once

#include <atomic>

#include "tools/base/config.h"
#include "tools/goodputd/active_role.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Runs until `stop_fd` becomes readable. `changed` is set when the queue changes, and brings the next read of
// accounting forward. A problem is logged once per change and does not end the loop.
void RunControllerLoop(const Config& config, ActiveRole& role, int stop_fd, std::atomic<bool>& changed,
                       Liveness& alive);

}  // namespace goodput
