// Parses and formats times of Slurm's commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace goodput {

// Seconds since the epoch (SLURM_TIME_FORMAT=%s) or YYYY-MM-DDTHH:MM:SS in local time; absent for Unknown,
// None, 0, and times before 1970 or after 2262.
std::optional<std::int64_t> ParseSlurmTime(absl::string_view text);

// YYYY-MM-DDTHH:MM:SS in local time, which every command accepts.
std::string FormatSlurmTime(std::int64_t seconds);

}  // namespace goodput
