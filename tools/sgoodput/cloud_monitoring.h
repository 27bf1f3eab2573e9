// Runs as time series in Google's Cloud Monitoring.
#pragma once

#include <string>

#include "tools/sgoodput/options.h"

namespace goodput {

// Writes one point of each series of the selected runs. Returns the exit status, after any message: 1 if not
// all of them were written, which the next call makes up for.
int WriteCloudMonitoring(const MetricsOptions& options);

// Prints what is known of the access to the project, and how to fix it. Returns the exit status.
int CheckCloudMonitoring(const std::string& project);

}  // namespace goodput
