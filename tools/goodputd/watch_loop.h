// Polls the queue in its own thread, because libslurm blocks for a long time if slurmctld is down.
#pragma once

#include <functional>

#include "tools/base/config.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Runs until `stop_fd` becomes readable; calls `on_change` after each look that found changes. A problem is
// logged once per change and does not end the loop. Returns up to a minute late while libslurm waits for the
// controller.
void RunWatchLoop(const Config& config, int stop_fd, Liveness& alive, const std::function<void()>& on_change);

}  // namespace goodput
