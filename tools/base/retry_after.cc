#include "tools/base/retry_after.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"

namespace goodput {

std::optional<absl::Duration> RetryAfter(const HttpAnswer& answer, absl::Time now) {
  constexpr absl::Duration kLongestAsked = absl::Hours(1);
  const auto header = answer.headers.find("retry-after");
  if (header == answer.headers.end()) return std::nullopt;
  std::int64_t seconds = 0;
  absl::Time date;
  absl::Duration wait;
  if (absl::SimpleAtoi(header->second, &seconds)) {
    wait = absl::Seconds(seconds);
  } else if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", header->second, &date, nullptr)) {
    wait = date - now;
  } else {
    return std::nullopt;
  }
  return std::clamp(wait, absl::ZeroDuration(), kLongestAsked);
}

}  // namespace goodput
