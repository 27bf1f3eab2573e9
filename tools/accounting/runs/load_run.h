// Builds the facts of one training run from database rows: its attempts, and which events belong to which.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/cluster_reader.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/flops/program_flops.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Ends the message of a NotFound error about a job that exists but of which too little is recorded yet.
inline constexpr std::string_view kAskAgain = "try again in a moment";

// Properties of the run for reports; of its last attempt if they differ.
struct RunInfo {
  std::string cluster;
  std::int64_t job_id = 0;  // of the last job
  std::string job_id_text;  // as Slurm prints it
  std::string run;          // --goodput-run; empty: not given
  std::string name;         // job name
  std::string user;
  std::string account;
  std::string partition;
  std::string qos;
  std::string state;
  std::string gpu_type;
  std::map<std::string, std::string> tags;  // --goodput-tags
  std::string reservation;                  // Slurm's reservation
  bool checkpoint_dir = false;              // --goodput-checkpoint-dir was given
};

struct Run {
  RunInfo info;
  RunFacts facts;
  std::vector<DeclaredFlops> flops;  // one per job that declared any
  std::set<std::string> gpu_types;   // of all its attempts, if Slurm reports them
};

// The attempts of these jobs of one cluster as one run. NotFound: the database has none of them.
// `cluster`: of the same database; keep one when loading many runs.
absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now, ClusterReader& cluster);
absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now);

}  // namespace goodput
