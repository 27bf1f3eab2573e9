#include "tools/sources/fleet_database/tables.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config.h"
#include "sql/fleet/fleet_schema.h"
#include "sql/fleet/usage_table.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/accounting/fleet_rows/node_day_rows.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

FleetSides Sides() {
  FleetSides sides;
  for (const Bucket bucket : AllBuckets()) {
    const Side side = BucketSide(bucket);
    const std::string column = Cat("b_", BucketName(bucket));
    if (side != Side::kExcluded) sides.wanted.push_back(column);
    if (side != Side::kExcluded && side != Side::kScheduling) sides.up.push_back(column);
    if (HoldsNodes(bucket)) sides.held.push_back(Cat("w_", BucketName(bucket)));
  }
  return sides;
}

// 0: there are no tables.
absl::StatusOr<std::int64_t> VersionOf(FleetConnection& connection) {
  ASSIGN_OR_RETURN(const FleetResult there,
                   connection.Query("SELECT to_regclass('goodput.fleet_schema') IS NOT NULL"));
  if (there.Text(0, 0) != "t") return 0;
  ASSIGN_OR_RETURN(const FleetResult found, connection.Query("SELECT version FROM fleet_schema"));
  return found.rows() == 0 ? 0 : found.Int(0, 0);
}

// "TABLE.COLUMN", of all rows that are sent.
std::vector<std::string> SentColumns() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view table, const std::vector<std::string>& columns) {
    for (const std::string& column : columns) names.push_back(Cat(table, ".", column));
  };
  add("unit", UnitColumns());
  add("attempt_day", AttemptDayColumns());
  add("interruption", InterruptionColumns());
  add("attempt_nodes", AttemptNodesColumns());
  add("cluster_day", ClusterDayColumns());
  add("node_day", NodeDayColumns());
  return names;
}

absl::Status Newer(const FleetConnection& connection, std::int64_t version) {
  return absl::FailedPreconditionError(Cat(connection.name(), " has tables of version ", version,
                                           ", and this program knows ", kFleetVersion,
                                           "; use a newer release of slurm-goodput"));
}

absl::StatusOr<bool> OffersCitus(FleetConnection& connection) {
  ASSIGN_OR_RETURN(
      const FleetResult found,
      connection.Query("SELECT FROM pg_available_extensions WHERE name = 'citus' AND"
                       " EXISTS (SELECT FROM pg_settings WHERE starts_with(pg_settings.name, 'citus.'))"));
  return found.rows() > 0;
}

absl::Status CreateAll(FleetConnection& connection, bool distributed) {
  const std::vector<std::string> buckets = BucketColumns();
  RETURN_IF_ERROR(connection.Execute(FleetTables(buckets)));
  RETURN_IF_ERROR(connection.Execute(FleetColumns(buckets, NodeUseColumns())));
  if (distributed) RETURN_IF_ERROR(connection.Execute(FleetDistribution()));
  RETURN_IF_ERROR(connection.Execute(UsageTable(buckets, distributed)));
  RETURN_IF_ERROR(connection.Execute(FleetViews(Sides(), buckets, NodeUseColumns())));
  RETURN_IF_ERROR(connection.Execute(FleetRights()));
  return connection
      .Query(
          "INSERT INTO fleet_schema (one, version, release, columns) VALUES (1, $1, $2, $3)"
          " ON CONFLICT (one) DO UPDATE SET version = excluded.version, release = excluded.release,"
          " columns = excluded.columns",
          {std::to_string(kFleetVersion), PACKAGE_VERSION, absl::StrJoin(SentColumns(), " ")})
      .status();
}

}  // namespace

absl::StatusOr<FleetSetup> SetUpFleet(FleetConnection& connection) {
  FleetSetup setup;
  // Two at a time would both create the roles.
  RETURN_IF_ERROR(connection.Execute("BEGIN; SELECT pg_advisory_xact_lock(1735356260, 2)"));
  ASSIGN_OR_RETURN(const std::int64_t version, VersionOf(connection));
  if (version > kFleetVersion) return Newer(connection, version);
  setup.created = version == 0;
  ASSIGN_OR_RETURN(setup.distributed, OffersCitus(connection));
  RETURN_IF_ERROR(CreateAll(connection, setup.distributed));
  RETURN_IF_ERROR(connection.Execute("COMMIT"));
  return setup;
}

absl::StatusOr<bool> AreDistributed(FleetConnection& connection) {
  ASSIGN_OR_RETURN(
      const FleetResult found,
      connection.Query(
          "SELECT FROM pg_class WHERE oid = to_regclass('goodput.usage_day') AND relkind = 'v'"));
  return found.rows() > 0;
}

std::string FleetWriterRole(const std::string& cluster) {
  return Cat("goodput_writer_", cluster);
}

absl::Status AddFleetWriter(FleetConnection& connection, const std::string& cluster,
                            const std::string& role) {
  constexpr std::size_t kLongestName = 63;
  if (cluster.empty() || FleetText(cluster) != cluster)
    return absl::InvalidArgumentError(Cat("'", Printable(cluster), "' cannot be the name of a cluster"));
  if (role.size() > kLongestName || FleetText(role) != role)
    return absl::InvalidArgumentError(Cat("'", Printable(role),
                                          "' cannot be the name of a role, which has at most ", kLongestName,
                                          " bytes; name another: sgoodput fleet add CLUSTER ROLE"));
  RETURN_IF_ERROR(connection.Execute("BEGIN"));
  ASSIGN_OR_RETURN(const FleetResult known,
                   connection.Query("SELECT cluster FROM writer WHERE role = $1", {role}));
  if (known.rows() > 0 && known.Text(0, 0) != cluster)
    return absl::AlreadyExistsError(Cat("the role ", Printable(role), " writes the rows of cluster ",
                                        Printable(known.Text(0, 0)),
                                        "; name another: sgoodput fleet add CLUSTER ROLE"));
  ASSIGN_OR_RETURN(const FleetResult there,
                   connection.Query("SELECT FROM pg_roles WHERE rolname = $1", {role}));
  if (there.rows() == 0)
    RETURN_IF_ERROR(connection.Execute(Cat("CREATE ROLE ", connection.Identifier(role), " LOGIN")));
  RETURN_IF_ERROR(connection.Execute(Cat("GRANT goodput_writer TO ", connection.Identifier(role))));
  RETURN_IF_ERROR(
      connection
          .Query("INSERT INTO writer (role, cluster) VALUES ($1, $2) ON CONFLICT DO NOTHING", {role, cluster})
          .status());
  RETURN_IF_ERROR(connection.Execute(FleetPolicies()));
  return connection.Execute("COMMIT");
}

absl::Status CheckFleetTables(FleetConnection& connection, bool reads) {
  const absl::StatusOr<FleetResult> found = connection.Query("SELECT version, columns FROM fleet_schema");
  if (!found.ok() && !absl::IsFailedPrecondition(found.status())) return found.status();
  const bool known = found.ok() && found->rows() > 0;
  ASSIGN_OR_RETURN(const std::int64_t version,
                   known ? absl::StatusOr<std::int64_t>(found->Int(0, 0)) : VersionOf(connection));
  if (version == 0)
    return absl::FailedPreconditionError(
        Cat(connection.name(), " has no tables of a fleet; its owner creates them with sgoodput fleet init"));
  if (version > kFleetVersion) return Newer(connection, version);
  const std::set<std::string> there =
      known ? absl::StrSplit(ToAbsl(found->Text(0, 1)), ' ') : std::set<std::string>();
  std::vector<std::string> missing;
  for (const std::string& name : SentColumns()) {
    if (there.count(name) == 0) missing.push_back(name);
  }
  if (version == kFleetVersion && missing.empty()) return absl::OkStatus();
  constexpr std::size_t kMostNamed = 5;
  const std::size_t more = missing.size() - std::min(missing.size(), kMostNamed);
  missing.resize(missing.size() - more);
  return absl::FailedPreconditionError(
      Cat(connection.name(), " has tables of an older release",
          missing.empty() ? "" : Cat(", without ", absl::StrJoin(missing, ", ")),
          more > 0 ? Cat(" and ", more, " more columns") : "",
          "; its owner upgrades them with sgoodput fleet migrate",
          reads ? "" : ", and nothing is sent until then"));
}

}  // namespace goodput
