// Loads what a cluster's database knows about the time of its nodes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/fleet/node_days.h"

namespace goodput {

// The time for which a cluster knows of its nodes.
struct NodeDaysTime {
  Ns begin = 0;  // the first watch, job or outage; at most ten years before `end`
  Ns end = 0;    // the last look of the queue watch if it still runs, else now
};
// `holds`: of all runs of the cluster.
absl::StatusOr<NodeDaysTime> TimeOfNodeDays(Database& db, const std::string& cluster, const NodeHolds& holds,
                                            Ns now);

// The rows of [begin, end), which lies within `time`. It holds the records of a month in memory at a time.
absl::StatusOr<std::vector<NodeDay>> LoadNodeDays(Database& db, const std::string& cluster,
                                                  const NodeHolds& holds, const NodeDaysTime& time, Ns begin,
                                                  Ns end);

}  // namespace goodput
