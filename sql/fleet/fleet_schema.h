// The tables of the fleet database (sql/fleet/SCHEMA.md) as SQL for PostgreSQL.
//
// All objects are in the schema `goodput`. The statements can be run again: they create what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// Raised if older programs could no longer write or read the tables. A new bucket only adds columns.
inline constexpr int kFleetVersion = 1;

// Executed by every connection: names without a schema mean the fleet's tables, and nothing in the user's own
// schemas can replace them.
inline constexpr std::string_view kFleetSearchPath = "SET search_path = goodput, pg_temp";

// `bucket_columns`: of attempt_day, bigint each.
std::string FleetTables(const std::vector<std::string>& bucket_columns);

// Adds columns that the tables lack. `use_columns`: n_NAME and g_NAME of node_day, bigint each.
std::string FleetColumns(const std::vector<std::string>& bucket_columns,
                         const std::vector<std::string>& use_columns);

// Views. They depend on the buckets: T and A are sums (tools/accounting/timeline/goodput.h). Each argument
// lists the columns b_NAME of one side; `held` has the columns w_NAME of the time in which nodes were held.
struct FleetSides {
  std::vector<std::string> wanted;  // T
  std::vector<std::string> up;      // A
  std::vector<std::string> held;
};
std::string FleetViews(const FleetSides& sides, const std::vector<std::string>& bucket_columns,
                       const std::vector<std::string>& use_columns);

// Roles without a login, rights and row-level security.
std::string FleetRights();

// Row-level security of the roles in `writer`; part of FleetRights. To be executed when `writer` has changed.
std::string FleetPolicies();

// Distributes the tables over the workers of a Citus cluster.
std::string FleetDistribution();

}  // namespace goodput
