// Answers questions from the fleet database: sums over the runs of all clusters, as `sgoodput report` prints
// them for one, and single runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/accounting/report/rollup_report.h"
#include "tools/sources/fleet_database/connection.h"

namespace goodput {

// Selects runs as SelectionOptions do for one cluster. Empty lists select everything.
struct FleetSelection {
  std::vector<std::string> clusters;
  std::vector<std::string> users;
  std::vector<std::string> accounts;
  std::vector<std::string> partitions;
  std::vector<std::string> states;  // long names: the run's, or that of any attempt
  std::vector<std::string> names;   // job names
  std::vector<std::string> jobs;    // 12, 12_3, 12+1
  std::vector<std::string> runs;    // of these names
  std::vector<std::string> nodes;   // that ran on any of these
  std::optional<Ns> start;          // runs in any state after this
  std::optional<Ns> end;
  bool truncate = false;  // counts only the days between start and end, which must be UTC midnights
};

struct FleetQuestion {
  FleetSelection select;
  // One or more of: all, cluster, user, account, partition, reservation, consumption, stockout, run,
  // gpu_type, month, day, cause, tag:KEY; or node, or cluster and node. Days and months are UTC.
  std::vector<std::string> by;
  // One row per so many days from start to end, both UTC midnights; 0: no windows.
  std::int64_t window_days = 0;
};

// InvalidArgument: an unknown group, or a border that is not midnight UTC.
absl::StatusOr<RollupReport> AskFleet(FleetConnection& connection, const FleetQuestion& question);

// One run.
struct FleetRun {
  std::string cluster;
  std::string cluster_url;  // where its intervals are; empty: unknown
  std::string unit;
  std::string job_id_text;
  std::string run;
  std::string user;
  std::string account;
  std::string state;
  bool final = true;
  Ns begin = 0;
  Ns end = 0;
  std::int64_t gpus = 0;
  std::int64_t attempts = 0;
  RollupRow sums;
};

// At most `limit` runs, the latest first; `more`: there are others.
struct FleetRuns {
  std::vector<FleetRun> runs;
  bool more = false;
};
absl::StatusOr<FleetRuns> RunsOfFleet(FleetConnection& connection, const FleetSelection& select,
                                      std::int64_t limit);

struct FleetClusterStatus {
  std::string cluster;
  std::string url;
  std::string release;
  std::optional<Ns> as_of;
  std::optional<Ns> heard;
  std::int64_t runs = 0;
  std::int64_t running = 0;
  std::int64_t refused = 0;
  std::string problem;
};
absl::StatusOr<std::vector<FleetClusterStatus>> ClustersOfFleet(FleetConnection& connection);

}  // namespace goodput
