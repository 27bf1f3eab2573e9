// goodputd's loop on the controller: ingests new spool records and reads accounting.
#pragma once

#include <atomic>

#include "tools/base/config.h"
#include "tools/goodputd/active_role.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Runs until `stop_fd` becomes readable. `changed`, set by whoever saw the queue change, brings the next look
// at accounting forward. Trouble is logged once a change and never ends the loop.
void RunControllerLoop(const Config& config, ActiveRole& role, int stop_fd, std::atomic<bool>& changed,
                       Liveness& alive);

}  // namespace goodput
