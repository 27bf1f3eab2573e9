// `sgoodput export --grain=attempt-day`: the rows of the fleet database as files, for other engines.
#pragma once

#include "tools/sgoodput/options.h"

namespace goodput {

// Writes DIR/cluster=NAME/month=YYYY-MM/attempt_day.csv for all runs, or the months from -S to -E. A file is
// complete or as it was before. Returns the exit status.
int RunExportDays(const ExportOptions& options);

}  // namespace goodput
