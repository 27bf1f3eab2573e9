// goodputd's thread on the controller that ingests the records nodes copied to the shared spool.
#pragma once

#include <string>

#include "tools/base/config.h"
#include "tools/goodputd/liveness.h"

namespace goodput {

// Has a helper (tools/sources/shared_spool/ingest_helper.h) read `config.shared_spool` each second, or as
// often as possible, as `writer`, until `stop_fd` becomes readable. A helper that hangs is replaced, and the
// folder at which it hung is skipped for a while. A problem is logged once per change and does not end the
// loop.
void RunSharedIngestLoop(const Config& config, const std::string& writer, int stop_fd, Liveness& alive);

}  // namespace goodput
