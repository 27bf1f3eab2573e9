// Replaces records of nodes that are older than keep_events with summaries, and frees their space.
//
// Not changed: records of accounting and of the queue watch (a few rows per attempt, needed to select jobs
// and to find who preempted whom), and steps and imported marks, which are already packed.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct PurgeReport {
  std::int64_t jobs = 0;
  std::int64_t events = 0;       // records that summaries replaced
  std::int64_t freed_bytes = 0;  // by which the database file shrinks once its log is checkpointed
};

// Summarizes jobs without any record since `before_s` (seconds since the epoch) whose owner the scheduler
// recorded. Records that arrive later are summarized likewise. A transaction covers some thousand records, so
// that other writers wait no longer than for an ingest; a job may be half done when this returns, and its
// reports are the same. `enough` is called in between: true ends it.
absl::StatusOr<PurgeReport> PurgeEvents(Database& db, std::int64_t before_s, std::int64_t now_s,
                                        const std::function<bool()>& enough);

}  // namespace goodput
