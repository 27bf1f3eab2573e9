// Splits jobs with one run name that had resources at the same time into several runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/runs/load_run.h"

namespace goodput {

// The jobs of the attempts, split so that no two jobs of a strand had resources at once; the job that started
// first is in the first strand. Jobs that have not started are in the first strand.
std::vector<std::vector<std::int64_t>> SplitConcurrentJobs(const RunFacts& facts);

// LoadRun; if the jobs are several strands, each as a run: NAME, NAME#2, NAME#3 ... in this order.
absl::StatusOr<std::vector<Run>> LoadConcurrentRuns(Database& db, const std::vector<JobKey>& jobs, Ns now,
                                                    ClusterReader& cluster);

// "NAME#2" -> NAME and 1; any other text is a name, with strand 0.
std::pair<std::string, std::size_t> StrandOfName(const std::string& text);

}  // namespace goodput
