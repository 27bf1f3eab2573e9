// Points in time as people write them: what -S and -E take, as in sacct.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/time.h"

namespace goodput {

// YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY][-HH:MM[:SS]], MMDD, HH:MM[:SS] today, now, now-2hours, midnight, today,
// noon; in local time. An error says what to write.
absl::StatusOr<Ns> ParseTimeOption(const std::string& text, absl::Time now);

// "FROM/TO[,FROM/TO]", in several texts or in one, of such times.
absl::StatusOr<std::vector<TimeSpan>> ParseWindows(const std::vector<std::string>& texts, absl::Time now);

}  // namespace goodput
