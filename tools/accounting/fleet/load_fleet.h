// The nodes of a cluster as the database knows them.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/fleet/node_history.h"

namespace goodput {

struct FleetNodes {
  std::map<std::string, NodeHistory> nodes;  // by name, within the time asked for
  Ns watched_until = 0;                      // the last look
  Ns watched = 0;                            // of the time asked for
};

// NotFound: nobody ever watched this cluster's nodes.
absl::StatusOr<FleetNodes> LoadFleetNodes(Database& db, const std::string& cluster, Ns begin, Ns end);

// What the nodes of a cluster last had, with commas, by name.
absl::StatusOr<std::map<std::string, std::string>> LoadNodeFeatures(Database& db, const std::string& cluster);

}  // namespace goodput
