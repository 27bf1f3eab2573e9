// Attempts from slurmdbd, by way of `sacct -D -X -P`: the same on every release, and what people can check by
// hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/tables/accounting.h"

namespace goodput {

struct SacctQuery {
  std::vector<std::int64_t> job_ids;                 // empty: all
  std::optional<std::int64_t> start_s;               // sacct -S; without job ids the last day if absent
  std::optional<std::int64_t> end_s = std::nullopt;  // sacct -E; now if absent
};

struct SacctText {
  std::vector<AccountingRow> rows;
  std::int64_t bad_lines = 0;  // lines that are no job
};

// Reads what sacct printed: a header line of field names, then a line a job, fields separated by `delimiter`,
// times as seconds (SLURM_TIME_FORMAT=%s) or as sacct's default (YYYY-MM-DDTHH:MM:SS, local time). Steps
// (12.batch) are left out. An error when the header lacks a field an attempt cannot do without.
absl::StatusOr<SacctText> ParseSacct(std::string_view text, std::string_view delimiter);

// Runs sacct. NotFound: there is no sacct. Unavailable: it failed (no slurmdbd), with its words.
absl::StatusOr<SacctText> RunSacct(const SacctQuery& query);

}  // namespace goodput
