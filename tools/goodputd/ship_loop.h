// goodputd's thread on a node that copies records to the shared folder.
#pragma once

#include "tools/base/config.h"

namespace goodput {

// Copies new records of every node of the spool to `config.shared_spool` each second until `stop_fd` becomes
// readable; then copies the rest for at most five seconds, so signal it only when all writers have finished.
// If the shared folder hangs, is full or missing, this thread waits for seconds, logs it once and retries
// within 30 s.
void RunShipLoop(const Config& config, int stop_fd);

}  // namespace goodput
