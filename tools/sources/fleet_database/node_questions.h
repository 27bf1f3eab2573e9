// `report --by node` of the fleet database.
#pragma once

#include "absl/status/statusor.h"
#include "tools/sources/fleet_database/connection.h"
#include "tools/sources/fleet_database/questions.h"

namespace goodput {

// `question.by` is node, or cluster and node; the answer has both, since clusters may give nodes the same
// name. As Rollup, it divides the time of an attempt among its nodes and leaves the rest in the row "-". A
// node's chance compares it with the nodes of its own cluster. InvalidArgument: another group.
absl::StatusOr<RollupReport> AskFleetByNode(FleetConnection& connection, const FleetQuestion& question);

}  // namespace goodput
