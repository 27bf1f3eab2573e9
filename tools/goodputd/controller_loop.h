// The controller's part of goodputd: watch the queue, read accounting, ingest, one after the other, for ever.
#ifndef GOODPUT_TOOLS_GOODPUTD_CONTROLLER_LOOP_H_
#define GOODPUT_TOOLS_GOODPUTD_CONTROLLER_LOOP_H_

#include "tools/config/config.h"

namespace goodput {

// Runs until `stop_fd` becomes readable. Trouble is logged once a change and never ends the loop.
void RunControllerLoop(const Config& config, int stop_fd);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_CONTROLLER_LOOP_H_
