#include "tools/base/parse_duration.h"

#include <string_view>

#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr double kMostSeconds = 100 * 365.25 * 86400;

// 0: not a unit.
double UnitSeconds(std::string_view unit) {
  if (unit == "d") return 86400;
  if (unit == "h") return 3600;
  if (unit == "m") return 60;
  if (unit == "s") return 1;
  if (unit == "ms") return 0.001;
  return 0;
}

}  // namespace

absl::StatusOr<double> ParseDurationOption(const std::string& text) {
  const absl::Status wrong =
      absl::InvalidArgumentError(Cat("'", text, "' is not a duration; use 90s, 10m, 1h30m or 2d"));
  constexpr std::string_view kNumber = "0123456789.";
  std::string_view rest = text;
  if (rest.empty()) return wrong;
  double seconds = 0;
  while (!rest.empty()) {
    const std::string_view number = rest.substr(0, rest.find_first_not_of(kNumber));
    rest.remove_prefix(number.size());
    const std::string_view unit = rest.substr(0, rest.find_first_of(kNumber));
    rest.remove_prefix(unit.size());
    double value = 0;
    if (UnitSeconds(unit) == 0 || !absl::SimpleAtod(ToAbsl(number), &value)) return wrong;
    seconds += value * UnitSeconds(unit);
  }
  if (!(seconds <= kMostSeconds))
    return absl::InvalidArgumentError(Cat("'", text, "' is more than 100 years"));
  return seconds;
}

}  // namespace goodput
