// Reads attempts from slurmdbd with `sacct -D -X -P`, which is the same in every release and can be checked
// by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "sql/tables/accounting.h"

namespace goodput {

struct SacctQuery {
  std::vector<std::int64_t> job_ids;                 // empty: all
  std::optional<std::int64_t> start_s;               // sacct -S; if absent and without job ids, the last day
  std::optional<std::int64_t> end_s = std::nullopt;  // sacct -E; now if absent
};

struct SacctText {
  std::vector<AccountingRow> rows;
  std::int64_t bad_lines = 0;  // lines that are not jobs
};

// Parses sacct's output: a header line of field names, then one line per job, fields separated by
// `delimiter`, times as seconds (SLURM_TIME_FORMAT=%s) or in sacct's default format (YYYY-MM-DDTHH:MM:SS,
// local time). Steps (12.batch) are skipped. An error if the header lacks a required field.
absl::StatusOr<SacctText> ParseSacct(std::string_view text, std::string_view delimiter);

// The same of a file that somebody wrote with sacct -P. Its header line shows the delimiter. An error if a
// field whose text users choose, such as JobName, is there and the delimiter could occur in it.
absl::StatusOr<SacctText> ParseSacctFile(std::string_view text);

// Runs sacct. It asks which fields this release of sacct knows, and remembers the answer for ten minutes or
// until sacct fails: Slurm may be upgraded meanwhile. Not thread-safe.
class Sacct {
 public:
  explicit Sacct(Clock clock = kSystemClock) : clock_(clock) {}

  // NotFound: sacct is not installed. Unavailable: it failed (no slurmdbd), with its message.
  absl::StatusOr<SacctText> Run(const SacctQuery& query);

 private:
  absl::Status LearnFields();

  Clock clock_;
  std::vector<std::string> fields_;  // empty: not known
  std::int64_t learned_ns_ = 0;
};

}  // namespace goodput
