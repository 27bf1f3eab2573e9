// Whether a job did nothing but train, from a few rows of it, however many steps it marked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// The steps of a job whose program does one after the other: it neither ended nor, as far as its steps tell,
// began again.
struct SteadySteps {
  std::int64_t first_t_ns = 0;  // begin of the first one, by its node's clock
  std::int64_t last_t_ns = 0;   // of the newest
  std::string durations;        // of the steps of the newest hour or so, as DurationHistogram encodes them

  // What a step takes, by these; absent: there are too few.
  std::optional<std::int64_t> Median() const;
};

// Present if one task of one Slurm step marked all steps, in order and none twice, if nothing ended before
// the first step, and if nothing but marks, saves and measurements was recorded after the last. Absent
// otherwise, also if the rows do not tell.
//
// What was recorded in between is not read, for most of it are saves: a program that failed and went on with
// the next step counts as one that did not fail. Records in blocks are not read either, so ask only for jobs
// that have none (ClusterReader::AnyBlocks).
absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job);

}  // namespace goodput
