// Sums of rows of attempt_day or usage_day, as PostgreSQL returns them, and the report that they become.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/sources/fleet_database/connection.h"
#include "tools/sources/fleet_database/questions.h"

namespace goodput {

// A sum of bigints: PostgreSQL returns it as numeric.
GpuNs WholeOf(std::string_view digits);

// Program goodput of rows that are added up.
struct ProgramSums {
  GpuNs known_gpu_ns = 0;
  double kept = 0;  // FLOPs x 10^18, as the sums of attempt_day have them
  double peak = 0;

  void SetIn(RollupRow& row) const;
};

struct FleetSums {
  RollupRow row;
  ProgramSums program;
};

using FleetGroup = std::pair<std::int64_t, std::string>;  // number of the window, keys

struct FleetAnswer {
  std::map<FleetGroup, FleetSums> groups;
  FleetSums total;
  std::vector<FleetClusterTime> clusters;
};

absl::StatusOr<std::vector<FleetClusterTime>> TimesOfClusters(FleetConnection& connection);
// Windows without rows are rows too.
RollupReport ReportOfSums(const FleetQuestion& question, FleetAnswer answer);

// The sums of d, in the order in which AddFleetSums expects them.
std::string SumColumns(bool of_usage);
// Adds the sums that begin at `column`.
void AddFleetSums(const FleetResult& result, int row, int column, FleetSums& sums);

}  // namespace goodput
