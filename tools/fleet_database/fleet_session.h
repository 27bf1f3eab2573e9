// What the commands of the fleet have in common: exit statuses, the configuration, the connection.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/base/config.h"
#include "tools/base/time.h"
#include "tools/fleet_database/options.h"
#include "tools/sources/fleet_database/connection.h"

namespace goodput {

// As sgoodput's.
inline constexpr int kFleetAnswered = 0;
inline constexpr int kFleetNothingMatched = 1;
inline constexpr int kFleetBadUsage = 2;

// A cluster that was not heard for this long has a problem, and answers name it.
inline constexpr Ns kStale = 300 * kSecond;

// Prints the error and returns the exit status.
int FailFleet(const absl::Status& status);

absl::StatusOr<Config> FleetConfig(const FleetCommon& options);
// Of --fleet-db; else `fleet` of goodput.conf, which is only read then.
absl::StatusOr<std::string> FleetUrl(const FleetCommon& options);
// Connects, and checks that this program can read the tables.
absl::StatusOr<FleetConnection> OpenFleet(const FleetCommon& options);

}  // namespace goodput
