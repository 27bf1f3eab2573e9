// The node daemon's thread that attributes kernel signal and exec events to jobs and records them.
#pragma once

#include <atomic>

#include "tools/base/config.h"

namespace goodput {

// Runs until `stop_fd` becomes readable and everything seen by then is written. If signals cannot be traced,
// logs one line and returns. SPOOL/signals has counters for `sgoodput doctor`. Sets `execs_traced` while it
// reports execs.
void RunSignalLoop(const Config& config, int stop_fd, std::atomic<bool>& execs_traced);

}  // namespace goodput
