// The rows of all runs of a database, for `sgoodput export --grain=attempt-day`.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/accounting/report/report.h"
#include "tools/sgoodput/options.h"

namespace goodput {

struct RunRows {
  const Report& report;
  const FleetRows& rows;
  std::string cluster;
};

// Of the runs between -S and -E, or of all, and of the cluster that -M names. A run that cannot be exported
// is named on stderr and left out. Says how far it is.
absl::Status ForEachRunRows(const ExportOptions& options,
                            const std::function<absl::Status(const RunRows&)>& take);

}  // namespace goodput
