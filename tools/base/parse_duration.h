// Parses durations: 90s, 10m, 1h30m, 2d.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// Seconds, 0 to 100 years. Numbers with the units d, h, m, s and ms in sequence; each may have a fraction. An
// error says what to write.
absl::StatusOr<double> ParseDurationOption(const std::string& text);

}  // namespace goodput
