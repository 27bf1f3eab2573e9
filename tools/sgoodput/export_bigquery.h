// `sgoodput export --grain=attempt-day --bigquery`: the rows of the fleet database in BigQuery.
#pragma once

#include "tools/sgoodput/options.h"

namespace goodput {

// Replaces the rows of all runs, or of those between -S and -E, in the table attempt_day of a dataset.
// Returns the exit status.
int RunExportBigQuery(const ExportOptions& options);

}  // namespace goodput
