// goodputd's thread on a node that copies records to the shared folder.
#pragma once

#include "tools/base/config.h"

namespace goodput {

// Copies what every node of the spool gained to `config.shared_spool`, each second, until `stop_fd` becomes
// readable; then copies what is left, for at most five seconds: write to it when everybody else has written
// what they had. What the shared folder does to whoever touches it (hang, fill up, go away) holds up this
// thread for seconds, is logged once and tried again within 30 s.
void RunShipLoop(const Config& config, int stop_fd);

}  // namespace goodput
