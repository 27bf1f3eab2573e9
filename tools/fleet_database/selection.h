// Which runs of the fleet the options select.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/fleet_database/options.h"
#include "tools/sources/fleet_database/questions.h"

namespace goodput {

// As sgoodput without --fleet-db: an ordinary user sees their own runs, everyone those since midnight.
// InvalidArgument: a time that cannot be read, or a start after the end.
absl::StatusOr<FleetSelection> ReadFleetSelection(const FleetSelectOptions& options, absl::Time now);

}  // namespace goodput
