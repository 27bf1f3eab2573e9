// Whether a job did nothing but train, from a few rows of it, however many steps it marked.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// The steps of a job whose program began once, did one after the other, and neither ended nor was
// interrupted.
struct SteadySteps {
  std::int64_t first_t_ns = 0;  // begin of the first one, by its node's clock
  std::int64_t last_t_ns = 0;   // of the newest
};

// Absent: its rows tell something else, or too little; its records do. One task of one Slurm step marked all
// steps, none of them twice; since the first there were only marks, saves, measurements and looks at a
// running job, and before it nothing ended. Records that are kept in blocks and imports are not looked at:
// ask for jobs without these (ClusterReader::AnyBlocks).
absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job);

}  // namespace goodput
