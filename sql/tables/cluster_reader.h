// What many runs of a cluster share. A report of all runs keeps one, and much is then read once instead of
// once a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/accounting.h"
#include "sql/tables/lost_records.h"

namespace goodput {

// Keep it no longer than a Snapshot: it does not see what is written later.
class ClusterReader {
 public:
  explicit ClusterReader(Database& db) : db_(db), accounting_(db) {}

  // Cheapest if jobs come by id.
  absl::StatusOr<std::vector<AccountingRow>> RowsOf(const JobKey& job) { return accounting_.RowsOf(job); }
  // As LoadLostRecords. Cheapest if the earliest time comes first.
  absl::StatusOr<std::vector<LostRecords>> LostBetween(const std::string& cluster, std::int64_t from_ns,
                                                       std::int64_t to_ns);
  // Whether any record of that job, of any cluster, is in a block. Cheapest if jobs come by id.
  absl::StatusOr<bool> AnyBlocks(std::int64_t job_id);
  // False: no import has marks, so that ReadImportedMarks finds none of any job.
  absl::StatusOr<bool> AnyImportedMarks();

 private:
  struct Lost {
    std::int64_t from_ns = 0;
    std::vector<LostRecords> records;  // from then on
  };
  Database& db_;
  AccountingReader accounting_;
  std::map<std::string, Lost> lost_;  // by cluster
  std::optional<bool> any_imported_marks_;
  // Of the jobs [from, next), none has a block.
  struct NoBlocks {
    std::int64_t from = 0;
    std::int64_t next = 0;
  };
  std::optional<NoBlocks> no_blocks_;
};

}  // namespace goodput
