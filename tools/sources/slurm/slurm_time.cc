#include "tools/sources/slurm/slurm_time.h"

#include "absl/strings/numbers.h"
#include "absl/time/time.h"

namespace goodput {
namespace {

constexpr absl::string_view kFormat = "%Y-%m-%dT%H:%M:%S";
// In the year 2262; nanoseconds beyond it exceed 64 bits.
constexpr std::int64_t kMaxSeconds = INT64_MAX / 1'000'000'000;

}  // namespace

std::optional<std::int64_t> ParseSlurmTime(absl::string_view text) {
  std::int64_t seconds = 0;
  if (!absl::SimpleAtoi(text, &seconds)) {
    absl::Time time;
    if (!absl::ParseTime(kFormat, text, absl::LocalTimeZone(), &time, nullptr)) return std::nullopt;
    seconds = absl::ToUnixSeconds(time);
  }
  if (seconds <= 0 || seconds > kMaxSeconds) return std::nullopt;
  return seconds;
}

std::string FormatSlurmTime(std::int64_t seconds) {
  return absl::FormatTime(kFormat, absl::FromUnixSeconds(seconds), absl::LocalTimeZone());
}

}  // namespace goodput
