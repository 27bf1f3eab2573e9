// Sums over runs as `sgoodput report` answers them, before they become a table or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/rollup/rollup.h"

namespace goodput {

struct RollupReport {
  std::string by;                 // with a comma between two
  std::vector<std::string> keys;  // the same, one by one
  bool windows = false;
  std::optional<double> gpu_hour;  // its price
  double busbw = 0;                // what is expected of the network, Config::busbw
  std::vector<RollupRow> rows;
  RollupRow total;
};

// The object `--json` prints, see report.schema.json.
std::string RollupAsJson(const RollupReport& report);

}  // namespace goodput
