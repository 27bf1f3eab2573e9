// `report --by node --suspects`: nodes that fail more often than by chance.
#pragma once

#include "tools/accounting/report/rollup_report.h"

namespace goodput {

// Removes the rows of nodes whose failures are as likely by chance as 1 in 100.
void KeepSuspects(RollupReport& report);
// Prints the nodes left as a list for Slurm, and what a person may do about them; of each cluster if the rows
// have clusters.
void PrintSuspects(const RollupReport& report);

}  // namespace goodput
