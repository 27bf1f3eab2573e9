#include "tools/slurm/slurm_time.h"

#include "absl/strings/numbers.h"
#include "absl/time/time.h"

namespace goodput {
namespace {

constexpr absl::string_view kFormat = "%Y-%m-%dT%H:%M:%S";

}  // namespace

std::optional<std::int64_t> ParseSlurmTime(absl::string_view text) {
  std::int64_t seconds = 0;
  if (absl::SimpleAtoi(text, &seconds)) {
    if (seconds <= 0) return std::nullopt;
    return seconds;
  }
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kFormat, text, absl::LocalTimeZone(), &time, &error)) return std::nullopt;
  return absl::ToUnixSeconds(time);
}

std::string FormatSlurmTime(std::int64_t seconds) {
  return absl::FormatTime(kFormat, absl::FromUnixSeconds(seconds), absl::LocalTimeZone());
}

}  // namespace goodput
