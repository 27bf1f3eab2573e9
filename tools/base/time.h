// Time as integer nanoseconds, since the epoch or between two moments.
#pragma once

#include <cstdint>

namespace goodput {

using Ns = std::int64_t;
inline constexpr Ns kSecond = 1'000'000'000;
inline double Seconds(Ns ns) {
  return static_cast<double>(ns) / static_cast<double>(kSecond);
}

inline constexpr Ns kUtcDay = 86'400 * kSecond;
// The UTC day that contains `t`, in days since 1970-01-01.
inline std::int64_t UtcDay(Ns t) {
  return t >= 0 ? t / kUtcDay : -((-(t + 1)) / kUtcDay) - 1;
}

// GPU-nanoseconds: 16,384 GPUs for 54 days exceed 64 bits.
__extension__ using GpuNs = __int128;

struct TimeSpan {
  Ns begin = 0;
  Ns end = 0;
};

}  // namespace goodput
