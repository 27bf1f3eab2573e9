// Many records of one job as one row of the database: what its nodes wrote at once when it began and ended,
// and, once keep_events is over, summaries of everything that its nodes wrote. See docs/formats/
// record_block.md; an EventCursor reads them, so reports of a summary say the same, for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/evidence.h"
#include "sql/tables/jobs.h"

namespace goodput {

struct RecordBlock {
  std::int64_t job_id = 0;
  std::string cluster;  // as its sources have it
  std::int64_t records = 0;
  std::int64_t first_t_ns = 0;
  std::int64_t last_t_ns = 0;
  std::optional<std::int64_t> made_s;  // since when it is a summary
  bool by_time = false;                // readers give its records by time, among those that are rows
  std::string data;
};

// Stores one more.
absl::Status StoreRecordBlock(Database& db, const RecordBlock& block);

// An event that a summary is to hold, and who wrote it.
struct OldEvent {
  EventRow event;
  std::string node;
  std::string boot;
};

// Removes the rows of these events.
absl::Status DeleteRows(Database& db, const std::vector<OldEvent>& events);

// Moves marks of the job's saves from rows into a block, at most 4,096 and the oldest first, within the
// caller's transaction. A begin whose end may still come stays a row. Returns how many were moved.
absl::StatusOr<std::int64_t> PackRowsOfSaves(Database& db, std::int64_t job_id, const std::string& cluster);

// Stores a summary of rows of the job, of a cluster as its sources have it. Of so many that all fit into
// memory.
absl::Status AddSummary(Database& db, std::int64_t job_id, const std::string& cluster,
                        std::vector<OldEvent> events, std::int64_t made_s);

// Makes a summary of the job's earliest block that is none yet, within the caller's transaction. How many
// records it has; 0: there is no such block.
absl::StatusOr<std::int64_t> SummarizeBlock(Database& db, std::int64_t job_id, std::int64_t made_s);

// When the first of the records of these jobs were replaced by a summary, in seconds since the epoch; absent:
// all are there.
absl::StatusOr<std::optional<std::int64_t>> SummarizedSince(Database& db, const std::vector<JobKey>& jobs);

}  // namespace goodput
