// Tries what reading and writing a log needs, without writing anything: for `sgoodput doctor --cloud-log`.
#pragma once

#include "absl/time/time.h"
#include "tools/sources/google_cloud/cloud_finding.h"
#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"

namespace goodput {

// Returns whether all is well.
bool CheckLog(LoggingService& service, const LogName& log, absl::Time now, const TellFinding& tell);

}  // namespace goodput
