// Loads the history of a cluster's nodes from the database.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/fleet/node_history.h"

namespace goodput {

struct FleetNodes {
  std::map<std::string, NodeHistory> nodes;  // by name, within the selected time
  Ns watched_until = 0;                      // time of the last look
  Ns watched = 0;                            // of the selected time
};

// Outages of a cluster's nodes that slurmdbd recorded before `end`, by node and begin. One that lasts ends at
// `end`.
absl::StatusOr<std::map<std::string, std::vector<KnownOutage>>> LoadKnownOutages(Database& db,
                                                                                 const std::string& cluster,
                                                                                 Ns end);

// NotFound: the nodes of this cluster were never watched.
absl::StatusOr<FleetNodes> LoadFleetNodes(Database& db, const std::string& cluster, Ns begin, Ns end);

// The last known features of a cluster's nodes, separated by commas, by name.
absl::StatusOr<std::map<std::string, std::string>> LoadNodeFeatures(Database& db, const std::string& cluster);

}  // namespace goodput
