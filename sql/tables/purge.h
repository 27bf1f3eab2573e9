// Records of nodes that are older than keep_events: a summary takes their place, and their room is given
// back.
//
// Kept as they are: what the scheduler said, by accounting and by the controller's watch (a few rows an
// attempt; it is how jobs are selected and who preempted whom), and steps and imported marks, which are
// packed already.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct PurgeReport {
  std::int64_t jobs = 0;
  std::int64_t events = 0;       // that summaries stand for now
  std::int64_t freed_bytes = 0;  // by which the database's file is shorter, once its log is brought in
};

// Summarizes jobs of which nothing was recorded since `before_s` (seconds since the epoch), and of which the
// scheduler said whose they are. What comes of one later is summarized likewise. A transaction has some
// thousand records, so that who writes beside it waits for no longer than for an ingest; a job may be half
// done when this ends, and its reports are the same. `enough` is asked in between: true ends it.
absl::StatusOr<PurgeReport> PurgeEvents(Database& db, std::int64_t before_s, std::int64_t now_s,
                                        const std::function<bool()>& enough);

}  // namespace goodput
