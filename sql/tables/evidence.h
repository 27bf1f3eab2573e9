// Reads what nodes and the controller recorded about jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/blocks/duration_histogram.h"
#include "sql/blocks/step_block.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

struct SourceRow {
  std::int64_t id = 0;
  std::string cluster;
  std::string node;
  std::string file;
  std::int64_t offset = 0;
  std::int64_t records = 0;
  std::int64_t bad = 0;
};
absl::StatusOr<std::vector<SourceRow>> LoadSources(Database& db);
// NotFound: there is no source with this id.
absl::StatusOr<SourceRow> LoadSource(Database& db, std::int64_t id);

// One event; readers get events from an EventCursor.
struct EventRow {
  std::int64_t source_id = 0;
  std::int64_t offset = 0;
  std::int64_t t_ns = 0;
  std::string kind;
  std::string record;  // the whole JSON object
};
// The period of a job's events: [first, second), in ns.
std::pair<std::int64_t, std::int64_t> TimesOf(const JobKey& job);

struct StepRow {
  std::int64_t source_id = 0;
  std::int64_t offset = 0;
  std::int64_t t_ns = 0;
  std::optional<std::int64_t> clock_ns;  // the writer's real minus monotonic time, within kClockStepNs
  std::int64_t train_step = 0;
  std::int64_t task = 0;
  std::string slurm_step;
};
// Every step mark of a job.
absl::StatusOr<std::vector<StepRow>> LoadSteps(Database& db, const JobKey& job);

// A block of evenly spaced step marks (see StepSummary), described without reading its marks.
struct StepBlockRow {
  std::int64_t source_id = 0;
  std::int64_t job_id = 0;
  std::string slurm_step;
  std::int64_t seq = 0;
  std::int64_t marks = 0;
  PackedStep first;
  PackedStep last;
  std::optional<std::int64_t> clock_ns;
  std::int64_t stride = 0;
  DurationHistogram durations;
};
struct JobSteps {
  std::vector<StepRow> marks;  // of blocks that are uneven, or too small to be kept as a block
  std::vector<StepBlockRow> blocks;
  std::vector<SourceRow> sources;  // that they are from, by id: cluster, node and file of each
};
absl::StatusOr<JobSteps> LoadJobSteps(Database& db, const JobKey& job);
// The marks of a block, limited to those it had when it was loaded.
absl::StatusOr<std::vector<PackedStep>> LoadStepsOfBlock(Database& db, const StepBlockRow& block);

struct QuarantineRow {
  std::string node;
  std::string file;
  std::int64_t offset = 0;
  std::string reason;
};
absl::StatusOr<std::vector<QuarantineRow>> LoadQuarantine(Database& db, std::int64_t limit);

}  // namespace goodput
