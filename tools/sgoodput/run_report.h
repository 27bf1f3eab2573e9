// Makes the reports on the runs that a command line selects.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tools/accounting/report/report.h"
#include "tools/sgoodput/session.h"

namespace goodput {

// MakeReports for these jobs, with the session's configuration and restricted to what its viewer may see.
absl::StatusOr<std::vector<Report>> MakeReports(Session& session, const std::vector<JobKey>& jobs,
                                                const TimelineOptions& options, ClusterReader& cluster,
                                                bool counted = true);

// The report on the target's run, read from one snapshot of the database.
absl::StatusOr<Report> MakeReport(Target& target, const TimelineOptions& options);

}  // namespace goodput
