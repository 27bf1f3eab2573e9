// What `sgoodput report --fleet` answers, before it is put into a table or JSON.
#ifndef GOODPUT_TOOLS_SGOODPUT_FLEET_H_
#define GOODPUT_TOOLS_SGOODPUT_FLEET_H_

#include <string>

#include "tools/fleet/fleet.h"
#include "tools/sgoodput/options.h"

namespace goodput {

struct FleetReport {
  std::string cluster;
  std::string by;  // "all" or "partition"
  Ns begin = 0;
  Ns end = 0;
  Ns watched = 0;  // of that time
  FleetCount count;
};

int RunFleet(const RollupOptions& options);

// The object `--json` prints, see report.schema.json.
std::string FleetAsJson(const FleetReport& report);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_FLEET_H_
