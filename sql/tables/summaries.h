// What is left of a job's records from its nodes once keep_events is over: see summary_pack.h. Reports read
// it as they read the records, so they say the same, for ever.
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

// Stores one more summary of the job, of a cluster as its sources have it. Of such a number of events that
// all of them fit into memory.
absl::Status AddSummary(Database& db, std::int64_t job_id, const std::string& cluster,
                        const std::vector<EventRow>& events, std::int64_t made_s);

// Appends what summaries have of the job in [first_ns, end_ns); absent `cluster`: of any. For EventCursor.
absl::Status AppendSummarized(Database& db, const std::optional<std::string>& cluster, std::int64_t job_id,
                              std::int64_t first_ns, std::int64_t end_ns, std::vector<EventRow>& events);

// When the first of the records of these jobs were replaced by a summary, in seconds since the epoch; absent:
// all are there.
absl::StatusOr<std::optional<std::int64_t>> SummarizedSince(Database& db, const std::vector<JobKey>& jobs);

}  // namespace goodput
