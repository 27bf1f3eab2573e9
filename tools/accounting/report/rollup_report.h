// The result of `sgoodput report`, for the table and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/rollup/rollup.h"

namespace goodput {

// A cluster of the fleet database, and the time of the last records in its rows; absent: it has sent none.
struct FleetClusterTime {
  std::string cluster;
  std::optional<Ns> as_of;
};

struct RollupReport {
  std::string by;                 // two are separated by a comma
  std::vector<std::string> keys;  // the same, as a list
  bool windows = false;
  std::optional<double> gpu_hour;  // price of one GPU-hour
  double busbw = 0;                // expected bus bandwidth, Config::busbw
  std::vector<RollupRow> rows;
  RollupRow total;
  bool consumption = false;  // grouped by how machines were obtained: rows show evidence and MPG
  bool waits = false;        // rows show waits
  // Of the fleet database: its clusters; rows show program goodput.
  std::optional<std::vector<FleetClusterTime>> clusters;

  // By node, or by cluster and node.
  bool by_node() const { return !keys.empty() && keys.back() == "node"; }
};

// The object that `--json` prints; see report.schema.json.
std::string RollupAsJson(const RollupReport& report);

}  // namespace goodput
