// Runs that are imports: a log of another program told of them, and no job of Slurm's is known to go with it.
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

// Ids of jobs that are imports are negative: Slurm has none of them.
inline bool IsImport(const JobKey& job) {
  return job.job_id < 0;
}

// The run with its attempts, which have no events or marks yet, by begin.
struct ImportedRun {
  Run run;
  std::vector<bool> is_life;  // of each attempt: it is the life of its program
};
absl::StatusOr<ImportedRun> LoadImportedRun(Database& db, const JobKey& job);

// What a log says of an attempt in words of the vocabulary of buckets. Phases named provisioning, launch,
// teardown, drain and suspended are no phases of the program: they become what Slurm would have told of the
// attempt, unless it did. `imported`: whether a log said it. `is_life`: the attempt is the life of its
// program, but for them.
void ReadSchedulingPhases(AttemptFacts& attempt, bool is_life,
                          const std::function<bool(const Mark&)>& imported);

// Attempts of which nothing says that they ended: of a run that is nothing but imports the last one is open,
// and now is when it was last heard of; any other was over by then.
void SettleOpenEnds(RunFacts& facts);

}  // namespace goodput
