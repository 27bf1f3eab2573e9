// goodputd's thread on the controller that ingests the records nodes copied to the shared spool.
#pragma once

#include <string>

#include "tools/base/config.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Has a helper (tools/sources/shared_spool/ingest_helper.h) look at `config.shared_spool` each second, or as
// often as that takes, as `writer`, until `stop_fd` becomes readable. A helper that hangs is given up for
// another, and the folder it hung at left alone for ten minutes. Trouble is logged once a change and never
// ends the loop.
void RunSharedIngestLoop(const Config& config, const std::string& writer, int stop_fd, Liveness& alive);

}  // namespace goodput
