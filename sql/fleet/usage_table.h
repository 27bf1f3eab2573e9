// usage_day of the fleet database: the sums of attempt_day by cluster, day and what reports group by, which
// are a small part of its rows.
//
// Triggers of attempt_day keep it up to date in the transaction that changes rows. A statement inserts and
// deletes whole runs, so that each run is counted once. Where the tables are distributed, it is a view with
// the same columns: triggers are not available there, and the workers share the sums.
#pragma once

#include <string>
#include <vector>

namespace goodput {

// Creates what is missing. `bucket_columns`: of attempt_day.
std::string UsageTable(const std::vector<std::string>& bucket_columns, bool distributed);

}  // namespace goodput
