// Maintains the database in a child process, which may be slow or hang on the folder of copies, and ends with
// goodputd: makes a daily copy, and replaces old records with summaries (sql/tables/purge.h).
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

// Whether a copy is due: none is younger than a day and it is night (2 to 5 in `zone`), or none is younger
// than two days.
bool CopyIsDue(const std::vector<absl::Time>& copies, absl::Time now, absl::TimeZone zone);

// How often to look for old records: a hundredth of the time they are kept, at least once an hour.
absl::Duration PurgeInterval(absl::Duration keep_events);

// Checks every minute what is due, until `stop_fd` is readable; not while `standby`. Leaves old records alone
// for the first ten minutes, while pending ones are ingested.
void RunHousekeeping(const Config& config, const std::string& writer, int stop_fd,
                     const std::atomic<bool>& standby);

// The child. Arguments: database, folder of copies, and how long records are kept, in seconds. Requests:
// "copy" (if due) and "purge". Returns a description for the log, nothing, or '!' and an error.
HelperAnswers HousekeepingHelper(const std::vector<std::string>& arguments);

}  // namespace goodput
