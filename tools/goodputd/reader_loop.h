// Opens the query sockets, keeps goodput-reader running to serve them, and gives it the information that only
// root can get from Slurm (tools/reader/control.h).
#pragma once

#include <string>

#include "tools/base/config.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Runs until `stop_fd` becomes readable. `config_path`: as given to goodputd; may be empty. A reader that
// ends is restarted; meanwhile, connections wait in the sockets, which this process owns. A problem is logged
// once per change.
void RunReaderLoop(const Config& config, const std::string& config_path, int stop_fd, const Liveness& alive);

}  // namespace goodput
