// Prints sums over runs to stdout: as a table, or for scripts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/accounting/report/rollup_report.h"

namespace goodput {

struct RollupPrinting {
  bool parsable2 = false;  // fields separated by |, without the total
  bool csv = false;        // comma-separated values, without the total
  bool no_header = false;
  std::string sort;  // columns; a leading - puts the largest first
};

// An error: `sort` names no column.
absl::Status PrintRollup(const RollupReport& report, const RollupPrinting& options);

}  // namespace goodput
