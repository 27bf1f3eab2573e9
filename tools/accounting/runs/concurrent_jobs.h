// Jobs that bear one run's name but had resources at the same time are not one run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/runs/load_run.h"

namespace goodput {

// The jobs of the attempts, split so that in no strand two jobs had resources at once; the job that started
// first begins the first one. Jobs that have not started are in the first.
std::vector<std::vector<std::int64_t>> SplitConcurrentJobs(const RunFacts& facts);

// LoadRun, and where the jobs are several strands each as a run: NAME, NAME#2, NAME#3 ... in this order.
absl::StatusOr<std::vector<Run>> LoadConcurrentRuns(Database& db, const std::vector<JobKey>& jobs, Ns now,
                                                    AccountingReader& accounting);

// "NAME#2" -> NAME and 1; a text that does not end so is a name, and the strand is 0.
std::pair<std::string, std::size_t> StrandOfName(const std::string& text);

}  // namespace goodput
