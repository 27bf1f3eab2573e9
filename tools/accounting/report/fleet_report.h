// The result of `sgoodput report --fleet`, for the table and JSON.
#pragma once

#include <string>

#include "tools/accounting/fleet/fleet.h"

namespace goodput {

struct FleetReport {
  std::string cluster;
  std::string by;  // "all" or "partition"
  Ns begin = 0;
  Ns end = 0;
  Ns watched = 0;  // of that time
  FleetCount count;
};

// The object that `--json` prints; see report.schema.json.
std::string FleetAsJson(const FleetReport& report);

}  // namespace goodput
