// What is done to the database besides filling it, in a child that may take its time or hang on the folder of
// the copies, and goes when goodputd goes: a copy a day, and summaries in the place of old records
// (sql/tables/purge.h).
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/base/config.h"
#include "tools/base/helper_process.h"

namespace goodput {

inline constexpr const char* kHousekeepingHelper = "housekeeping";

// Whether a copy is due: none is younger than a day, and it is night (from 2 to 5 in `zone`), or none is
// younger than two days.
bool CopyIsDue(const std::vector<absl::Time>& copies, absl::Time now, absl::TimeZone zone);

// How often old records are looked for: a hundred times in the time they are kept, once an hour at least.
absl::Duration PurgeInterval(absl::Duration keep_events);

// Looks every minute what is due, until `stop_fd` is readable; not on `standby`. Old records are left alone
// for the first ten minutes, when what came meanwhile is taken in.
void RunHousekeeping(const Config& config, const std::string& writer, int stop_fd,
                     const std::atomic<bool>& standby);

// In the child, for a database, a folder of copies and how long records are kept, in seconds: "copy" where
// one is due, "purge". Answers what was done in words for a log, nothing, or '!' and what went wrong.
HelperAnswers HousekeepingHelper(const std::vector<std::string>& arguments);

}  // namespace goodput
