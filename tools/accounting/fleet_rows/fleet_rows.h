// The rows of one run in the fleet database (sql/fleet/SCHEMA.md), as lines of PostgreSQL's COPY text format.
//
// Pure. A run is replaced as a whole, so its rows carry one digest: what a cluster would send again is equal
// if and only if the digest is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/report/report.h"

namespace goodput {

// 128 bits of SHA-1, as PostgreSQL prints a uuid.
using Digest = std::string;
Digest DigestOf(std::string_view text);

// "1234", or "1234@1700000000" for a later job that used the id again: its first submit time in seconds.
struct UnitKey {
  std::int64_t job_id = 0;
  std::int64_t from_s = 0;  // JobKey::from_s; the minimum for the first job with the id
};
std::string UnitName(const UnitKey& key);
absl::StatusOr<UnitKey> ParseUnitName(std::string_view name);
// The job of a run by which the fleet knows it: that with the lowest id. `group`: the jobs of which the
// report was made.
UnitKey KeyOfReport(const Report& report, const std::vector<JobKey>& group);

// Text as PostgreSQL can store it: bytes that are not UTF-8 and NULs become U+FFFD, and it ends after 1,000
// bytes.
std::string FleetText(std::string_view text);

struct FleetRows {
  std::string unit;
  std::int64_t shard = 0;  // hash of cluster and unit: by it a server distributes rows
  Digest digest;
  bool final = true;              // false: it still runs
  std::string unit_line;          // without its revision, which is the last column
  std::vector<std::string> days;  // lines of attempt_day
  std::vector<std::string> interruptions;
  std::vector<std::int64_t> months;  // of the days: days since 1970-01-01 of each first of month

  std::size_t size() const { return 1 + days.size() + interruptions.size(); }
};

// The columns of the lines, in their order; of buckets: b_NAME is GPU-ns and w_NAME is ns.
const std::vector<std::string>& UnitColumns();
const std::vector<std::string>& AttemptDayColumns();
const std::vector<std::string>& InterruptionColumns();
// b_NAME and w_NAME of each bucket, as attempt_day has them.
std::vector<std::string> BucketColumns();

// `node_features`: of the cluster's nodes. OutOfRange: the run has more days or GPUs than a row can hold.
absl::StatusOr<FleetRows> RowsOfRun(const Report& report, const UnitKey& key, const std::string& cluster,
                                    const std::map<std::string, std::string>& node_features);

}  // namespace goodput
