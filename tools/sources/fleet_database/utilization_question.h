// Answers from the fleet database what became of the time of all nodes: idle, down, drained or allocated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/accounting/report/utilization.h"
#include "tools/sources/fleet_database/connection.h"

namespace goodput {

struct UtilizationQuestion {
  std::vector<std::string> clusters;  // empty: all
  std::vector<std::string> nodes;     // empty: all
  std::vector<std::string> by;        // of cluster, node, day, month, all; days and months are UTC
  Ns begin = 0;                       // a day counts as a whole: `begin` is moved to its UTC midnight, and
  Ns end = 0;                         // `end` to the next one
};

// Nodes of several clusters that have the same name are different ones. InvalidArgument: an unknown group.
absl::StatusOr<UtilizationReport> AskUtilization(FleetConnection& connection,
                                                 const UtilizationQuestion& question);

}  // namespace goodput
