// Runs that exist only as imports: a log of another program, without a Slurm job.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Job ids of imports are negative; Slurm never uses those.
inline bool IsImport(const JobKey& job) {
  return job.job_id < 0;
}

// The run with its attempts by begin; they have no events or marks yet.
struct ImportedRun {
  Run run;
  std::vector<bool> is_life;  // per attempt: it is the life of its program
};
absl::StatusOr<ImportedRun> LoadImportedRun(Database& db, const JobKey& job);

// Phases named provisioning, launch, teardown, drain and suspended are not phases of the program: they become
// what Slurm would have recorded about the attempt, unless it did. `imported`: whether a log recorded the
// phase. `is_life`: the attempt is the life of its program, apart from these phases.
void ReadSchedulingPhases(AttemptFacts& attempt, bool is_life,
                          const std::function<bool(const Mark&)>& imported);

// Settles attempts without a known end: in a run of imports only, the last one is open and "now" is its last
// record; any other ended before the next.
void SettleOpenEnds(RunFacts& facts);

}  // namespace goodput
