// Writes step marks into blocks, each with what a report needs to know of it without reading it: from where
// to where it goes, and how long its steps took.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/blocks/duration_histogram.h"
#include "sql/blocks/step_block.h"
#include "sql/database.h"

namespace goodput {

// Marks of which every one is later than the one before and `stride` steps further, all by one task: what a
// training loop writes. Marks that repeat the step of the one before are allowed and count for nothing.
// Anything else must be read mark by mark.
class StepSummary {
 public:
  void Add(const PackedStep& step);
  std::int64_t marks() const { return marks_; }
  const PackedStep& first() const { return first_; }
  // The first mark of the last step.
  const PackedStep& last() const { return last_; }
  // Absent: the marks are not even, or there are not two steps.
  std::optional<std::int64_t> stride() const;
  // Of a step each: the time from one mark to the next, over the stride. Empty unless even.
  const DurationHistogram& durations() const { return durations_; }

 private:
  std::int64_t marks_ = 0;
  PackedStep first_;
  PackedStep last_;
  std::int64_t stride_ = 0;  // 0: not known yet
  bool even_ = true;
  DurationHistogram durations_;
};

// The blocks of one source. All calls belong into one transaction, which Flush ends.
class StepStore {
 public:
  StepStore(Database& db, std::int64_t source_id) : db_(db), source_id_(source_id) {}

  // `clock_ns`: the writer's real less monotonic time, where that is known.
  absl::Status Append(std::int64_t job_id, std::string_view slurm_step, const PackedStep& step,
                      std::optional<std::int64_t> clock_ns);
  // Stores what was appended.
  absl::Status Flush();

 private:
  // What is being appended to.
  struct OpenBlock {
    std::int64_t seq = 0;
    std::optional<std::int64_t> clock_ns;
    StepSummary summary;
    std::string frames;
    PackedStep last_framed;
    std::vector<PackedStep> tail;
    bool changed = false;

    void Add(const PackedStep& step);
  };
  using Key = std::pair<std::int64_t, std::string>;  // job, Slurm step

  absl::StatusOr<OpenBlock*> BlockFor(std::int64_t job_id, std::string_view slurm_step);
  absl::Status Store(const Key& key, OpenBlock& block);

  Database& db_;
  std::int64_t source_id_;
  std::map<Key, OpenBlock> blocks_;
  std::optional<Statement> store_;
};

}  // namespace goodput
