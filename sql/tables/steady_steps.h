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
  std::string durations;        // of the newest hour or so, encoded

  // What a step takes, by these; absent: there are too few.
  std::optional<std::int64_t> Median() const;
};

// Absent: its rows tell something else, or too little; its records do. One task of one Slurm step marked all
// steps, none of them twice. Nothing ended before the first, and nothing but marks, saves and measurements
// came after the last; what was recorded in between, most of which are saves, is not read: a program that
// failed and went on with the very next step is taken for one that did not. Records that are kept in blocks
// and imports are not looked at either: ask for jobs without these (ClusterReader::AnyBlocks).
absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job);

}  // namespace goodput
