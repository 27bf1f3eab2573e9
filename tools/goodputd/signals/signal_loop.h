// The node daemon's thread that watches signals: kernel -> whose -> spool.
#ifndef GOODPUT_TOOLS_GOODPUTD_SIGNALS_SIGNAL_LOOP_H_
#define GOODPUT_TOOLS_GOODPUTD_SIGNALS_SIGNAL_LOOP_H_

#include "tools/config/config.h"

namespace goodput {

// Returns when `stop_fd` becomes readable, all that was seen until then written; at once, after one line in
// the log, where signals cannot be watched. SPOOL/signals has its counts for `sgoodput doctor`.
void RunSignalLoop(const Config& config, int stop_fd);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_SIGNALS_SIGNAL_LOOP_H_
