// What is done to the database once a day, in a child that may take its time or hang on the folder of the
// copies, and goes when goodputd goes.
#ifndef GOODPUT_TOOLS_GOODPUTD_HOUSEKEEPING_HOUSEKEEPER_H_
#define GOODPUT_TOOLS_GOODPUTD_HOUSEKEEPING_HOUSEKEEPER_H_

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/base/helper_process.h"
#include "tools/config/config.h"

namespace goodput {

inline constexpr const char* kHousekeepingHelper = "housekeeping";

// Whether a copy is due: none is younger than a day, and it is night (from 2 to 5 in `zone`), or none is
// younger than two days.
bool CopyIsDue(const std::vector<absl::Time>& copies, absl::Time now, absl::TimeZone zone);

// Looks every minute what is due, until `stop_fd` is readable; not on `standby`.
void RunHousekeeping(const Config& config, int stop_fd, const std::atomic<bool>& standby);

// In the child: "copy DATABASE FOLDER" where one is due.
HelperAnswers HousekeepingHelper(const std::vector<std::string>& arguments);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_HOUSEKEEPING_HOUSEKEEPER_H_
