// Rows of attempt_day as BigQuery loads them: a line of JSON each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

struct TypedColumn {
  std::string name;
  std::string type;  // of GoogleSQL
};

// Those of attempt_day, and rev, the time in nanoseconds at which the row was made. GPU time is NUMERIC: a
// day of 100,000 GPUs nearly fills an INT64, and SUM would overflow.
const std::vector<TypedColumn>& AttemptDayTypes();

// `line`: of FleetRows::days. NULLs are left out, and numbers are strings, so that none is rounded.
std::string AttemptDayAsJson(std::string_view line, std::int64_t rev);
// A row that only removes a run.
std::string RemovalAsJson(const std::string& cluster, const std::string& unit, std::int64_t rev);

}  // namespace goodput
