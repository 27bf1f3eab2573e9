#include "tools/fleet_database/fleet_session.h"

#include <cstdio>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sources/fleet_database/tables.h"

namespace goodput {

int FailFleet(const absl::Status& status) {
  std::fprintf(stderr, "sgoodput: %s\n", Printable(Message(status)).c_str());
  return absl::IsNotFound(status) ? kFleetNothingMatched : kFleetBadUsage;
}

absl::StatusOr<Config> FleetConfig(const FleetCommon& options) {
  absl::StatusOr<Config> config = LoadConfig(options.config);
  // NotFound is for runs.
  if (absl::IsNotFound(config.status())) return absl::FailedPreconditionError(config.status().message());
  return config;
}

absl::StatusOr<std::string> FleetUrl(const FleetCommon& options) {
  std::string url = options.fleet_db;
  if (url.empty()) {
    ASSIGN_OR_RETURN(const Config config, FleetConfig(options));
    url = config.fleet;
  }
  if (url.empty())
    return absl::InvalidArgumentError(
        "no fleet database is known; use --fleet-db postgresql://USER@HOST/DATABASE, or set `fleet` in "
        "goodput.conf");
  ASSIGN_OR_RETURN(const std::string name, CheckFleetUrl(url));
  return url;
}

absl::StatusOr<FleetConnection> OpenFleet(const FleetCommon& options) {
  ASSIGN_OR_RETURN(const std::string url, FleetUrl(options));
  ASSIGN_OR_RETURN(FleetConnection connection, FleetConnection::Open(url));
  RETURN_IF_ERROR(CheckFleetTables(connection, true));
  return connection;
}

}  // namespace goodput
