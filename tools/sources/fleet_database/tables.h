// Creates, upgrades and checks the tables of the fleet database.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/fleet_database/connection.h"

namespace goodput {

struct FleetSetup {
  bool created = false;      // there were no tables
  bool distributed = false;  // by Citus
};

// Creates what is missing: tables, columns of new buckets, views, roles. It needs the right to create a
// schema and roles, and can be repeated. Where the server offers Citus, distributes the tables.
// FailedPrecondition: a newer release made the tables.
absl::StatusOr<FleetSetup> SetUpFleet(FleetConnection& connection);

// Names the role that may write the rows of a cluster, and creates it (with a login, without a password) if
// there is none. AlreadyExists: the role writes another cluster.
absl::Status AddFleetWriter(FleetConnection& connection, const std::string& cluster, const std::string& role);
// goodput_writer_CLUSTER.
std::string FleetWriterRole(const std::string& cluster);

// Whether this program can write to these tables, or (if `reads`) only read from them: an older program
// writes to newer tables, whose new columns stay NULL, but not the other way round.
absl::Status CheckFleetTables(FleetConnection& connection, bool reads);

// Whether Citus distributes the tables, which CheckFleetTables has found to be there.
absl::StatusOr<bool> AreDistributed(FleetConnection& connection);

}  // namespace goodput
