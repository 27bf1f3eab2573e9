// The rows of one run in the fleet database (sql/fleet/SCHEMA.md), as lines of PostgreSQL's COPY text format.
//
// Pure. A run is replaced as a whole, so its rows carry one digest: what a cluster would send again is equal
// if and only if the digest is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/accounting/report/report.h"

namespace goodput {

// 128 bits of SHA-1, as PostgreSQL prints a uuid.
using Digest = std::string;
Digest DigestOf(std::string_view text);

// A run is known by its job with the lowest id, and by the first submit of that job: a controller that lost
// its state uses the same ids again.
struct UnitKey {
  std::int64_t job_id = 0;
  std::int64_t submit_s = 0;

  friend bool operator<(const UnitKey& a, const UnitKey& b) {
    return std::tie(a.job_id, a.submit_s) < std::tie(b.job_id, b.submit_s);
  }
  friend bool operator==(const UnitKey& a, const UnitKey& b) {
    return std::tie(a.job_id, a.submit_s) == std::tie(b.job_id, b.submit_s);
  }
};
// "1234@1700000000".
std::string UnitName(const UnitKey& key);
absl::StatusOr<UnitKey> ParseUnitName(std::string_view name);

// The jobs of a run, each with its first submit; the first is the run's key.
std::vector<UnitKey> JobsOfReport(const Report& report);

// Text as PostgreSQL can store it: bytes that are not UTF-8 and NULs become U+FFFD, and it ends after 1,000
// bytes.
std::string FleetText(std::string_view text);

// Bits of the column `firsts` of attempt_day, by position: this row is the first of its run, the first of its
// run in this month, and so on. So sums count each run once.
enum class FirstOf : std::uint8_t { kRun, kMonth, kDay, kProvision, kCause, kMonthProvision, kMonthCause };

// The first day of the month of `day`; both in days since 1970-01-01.
std::int64_t MonthOf(std::int64_t day);

// A hash of 63 bits: by it a server distributes rows. `unit`: what is replaced as a whole.
std::int64_t ShardOf(const std::string& cluster, const std::string& unit);

struct FleetRows {
  UnitKey key;
  std::string unit;        // its name
  std::int64_t shard = 0;  // hash of cluster and unit: by it a server distributes rows
  Digest digest;
  bool final = true;              // false: it still runs
  std::string unit_line;          // without its revision, which is the last column
  std::vector<std::string> days;  // lines of attempt_day
  std::vector<std::string> interruptions;
  std::vector<std::string> nodes;    // lines of attempt_nodes
  std::vector<std::int64_t> months;  // of the days: days since 1970-01-01 of each first of month

  std::size_t size() const { return 1 + days.size() + interruptions.size() + nodes.size(); }
};

// The columns of the lines, in their order; of buckets: b_NAME is GPU-ns and w_NAME is ns.
const std::vector<std::string>& UnitColumns();
const std::vector<std::string>& AttemptDayColumns();
const std::vector<std::string>& InterruptionColumns();
const std::vector<std::string>& AttemptNodesColumns();
// b_NAME and w_NAME of each bucket, as attempt_day has them.
std::vector<std::string> BucketColumns();

// `node_features`: of the cluster's nodes. OutOfRange: the run has more days or GPUs than a row can hold.
absl::StatusOr<FleetRows> RowsOfRun(const Report& report, const UnitKey& key, const std::string& cluster,
                                    const std::map<std::string, std::string>& node_features);

}  // namespace goodput
