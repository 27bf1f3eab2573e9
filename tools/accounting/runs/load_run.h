// From database rows to the facts of one training run: which attempts it has, and which events belong to
// which.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/accounting.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/flops/program_flops.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Ends the message of an error NotFound about a job that exists, and of which too little is recorded as yet.
inline constexpr std::string_view kAskAgain = "ask again in a moment";

// What a report says about the run besides its timeline; of its last attempt where they differ.
struct RunInfo {
  std::string cluster;
  std::int64_t job_id = 0;  // of the last job
  std::string job_id_text;  // as people write it
  std::string run;          // --goodput-run, empty where none was given
  std::string name;         // job name
  std::string user;
  std::string account;
  std::string partition;
  std::string qos;
  std::string state;
  std::string gpu_type;
  std::map<std::string, std::string> tags;  // --goodput-tags
  std::string reservation;                  // Slurm's
  bool checkpoint_dir = false;              // --goodput-checkpoint-dir was given
};

struct Run {
  RunInfo info;
  RunFacts facts;
  std::vector<DeclaredFlops> flops;  // one a job that said anything of them
  std::set<std::string> gpu_types;   // of all its attempts, where Slurm says
};

// The attempts of these jobs of one cluster as one run. NotFound: the database knows none of them.
// `accounting`: of the same database; who loads many runs keeps one.
absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now,
                            AccountingReader& accounting);
absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now);

}  // namespace goodput
