// What slurmdbd says about attempts, one row each: (cluster, job id, submit time).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// The "signal" with which Slurm reports that a step ran out of memory.
inline constexpr std::int64_t kStepRanOutOfMemory = 125;

// Times are whole seconds since the epoch, as in Slurm; absent means unknown.
struct AccountingRow {
  std::string cluster;
  std::int64_t job_id = 0;
  std::int64_t submit_s = 0;
  std::optional<std::int64_t> eligible_s;
  std::optional<std::int64_t> start_s;
  std::optional<std::int64_t> end_s;
  std::string state;  // one word: CANCELLED, not "CANCELLED by 0"
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> exit_signal;
  std::string user;
  std::string account;
  std::string partition;
  std::string qos;
  std::string name;
  std::string node_list;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;  // allocated, or requested while pending
  std::string gpu_type;
  std::string reason;
  std::string failed_node;
  std::string admin_comment;
  std::int64_t suspended_s = 0;
  std::optional<std::int64_t> restarts;
  std::string job_id_text;  // as Slurm prints it: 12, 12_3, 12+1
  // The signal of the step that failed worst; kStepRanOutOfMemory is Slurm's own, not a signal of the kernel.
  std::optional<std::int64_t> derived_signal;
  std::string cancelled_by;  // the user's name, or id if there is none
  std::string reservation;   // Slurm's reservation
  std::optional<std::int64_t> time_limit_s;
};

// Stores rows and replaces what was known about the same attempts. An attempt that had ended stays ended:
// slurmdbd may lose an end. `read_s`: when the rows were read.
absl::Status StoreAccounting(Database& db, const std::vector<AccountingRow>& rows, std::int64_t read_s);

// Stores rows from a file; attempts that were read from slurmdbd itself are not changed. Returns the number
// of rows stored.
absl::StatusOr<std::int64_t> StoreAccountingOfFile(Database& db, const std::vector<AccountingRow>& rows);

// How long attempts waited (seconds, from eligible to start) that started since then, in that partition, with
// half to twice as many GPUs.
absl::StatusOr<std::vector<std::int64_t>> RecentWaits(Database& db, std::string_view cluster,
                                                      std::string_view partition, std::int64_t gpus,
                                                      std::int64_t since_s);

// The attempts of a job by submit time.
absl::StatusOr<std::vector<AccountingRow>> LoadAccounting(Database& db, const JobKey& job);

// LoadAccounting for one job after the other. If they come by cluster, id and time, it reads the table once;
// any other order costs one query per job. Use within one Snapshot.
class AccountingReader {
 public:
  explicit AccountingReader(Database& db) : db_(db) {}
  absl::StatusOr<std::vector<AccountingRow>> RowsOf(const JobKey& job);

 private:
  struct Cursor {
    Statement rows;
    std::optional<AccountingRow> next;  // absent: at the end
  };
  static absl::Status Advance(Cursor& cursor);

  Database& db_;
  std::map<std::string, Cursor> cursors_;  // by cluster
};

// Attempts of a cluster that started in [from_s, to_s], by start.
absl::StatusOr<std::vector<AccountingRow>> LoadStartedBetween(Database& db, const std::string& cluster,
                                                              std::int64_t from_s, std::int64_t to_s);

// A node that was down or drained, as slurmdbd records it; `end_s` is absent while it lasts.
struct NodeOutage {
  std::string cluster;
  std::string node;
  std::string state;
  std::int64_t start_s = 0;
  std::optional<std::int64_t> end_s;
  std::string reason;
};
absl::Status StoreOutages(Database& db, const std::vector<NodeOutage>& outages);
// Outages of a cluster that began in [from_s, to_s], by begin.
absl::StatusOr<std::vector<NodeOutage>> LoadOutages(Database& db, const std::string& cluster,
                                                    std::int64_t from_s, std::int64_t to_s);

}  // namespace goodput
