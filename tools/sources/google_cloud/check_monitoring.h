// Says what is known of the access to Cloud Monitoring, for `sgoodput doctor --cloud-monitoring`. It writes
// nothing, and so cannot try the role: the service has no dry run.
#pragma once

#include <string>

#include "tools/sources/google_cloud/cloud_finding.h"
#include "tools/sources/google_cloud/monitoring_service.h"

namespace goodput {

// `project` may be "-". Returns whether nothing is wrong.
bool CheckMonitoring(const CloudWorld& world, MonitoringService& service, const std::string& project,
                     const TellFinding& tell);

}  // namespace goodput
