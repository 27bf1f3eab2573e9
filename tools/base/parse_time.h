// Parses points in time for -S and -E, in sacct's formats.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/time.h"

namespace goodput {

// YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY][-HH:MM[:SS]], MMDD, HH:MM[:SS] (of today), now, now-2hours, midnight,
// today, noon; in local time. @SECONDS is since the epoch, as in date(1): programs write it. An error says
// what to write.
absl::StatusOr<Ns> ParseTimeOption(const std::string& text, absl::Time now);

// Parses windows "FROM/TO[,FROM/TO]" of such times, from one text or several.
absl::StatusOr<std::vector<TimeSpan>> ParseWindows(const std::vector<std::string>& texts, absl::Time now);

}  // namespace goodput
