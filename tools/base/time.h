// Time as integer nanoseconds, since the epoch or between two moments.
#pragma once

#include <cstdint>

namespace goodput {

using Ns = std::int64_t;
inline constexpr Ns kSecond = 1'000'000'000;
inline double Seconds(Ns ns) {
  return static_cast<double>(ns) / static_cast<double>(kSecond);
}

struct TimeSpan {
  Ns begin = 0;
  Ns end = 0;
};

}  // namespace goodput
