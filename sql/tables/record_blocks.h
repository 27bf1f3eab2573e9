// Records of slurmd's hooks that came by the hundreds: what the nodes of one job wrote at once, when it began
// and ended, as one row of the database. See record_pack.h; an EventCursor reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/evidence.h"

namespace goodput {

struct RecordBlock {
  std::int64_t id = 0;
  std::int64_t job_id = 0;
  std::string cluster;  // as its sources have it
  std::int64_t records = 0;
  std::int64_t first_t_ns = 0;
  std::int64_t last_t_ns = 0;
  std::optional<std::int64_t> made_s;  // since when it is without the members that summaries leave out
  std::string data;
};

// Stores one more; its id is the database's.
absl::Status StoreRecordBlock(Database& db, const RecordBlock& block);

// The records of a block, as events. An error where it is damaged.
absl::StatusOr<std::vector<EventRow>> EventsOfBlock(const Database& db, std::int64_t job_id,
                                                    std::string_view data);

// Makes a summary of the job's earliest block that is none yet, within the caller's transaction. How many
// records it has; 0: there is no such block.
absl::StatusOr<std::int64_t> SummarizeBlock(Database& db, std::int64_t job_id, std::int64_t made_s);

}  // namespace goodput
