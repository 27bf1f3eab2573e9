// The clock, passed to all code that takes or formats a timestamp so that tests can set the time.
#pragma once

#include <cstdint>
#include <ctime>

namespace goodput {

inline constexpr int64_t kSecondNs = 1'000'000'000;

struct Clock {
  int64_t (*real_ns)() noexcept;  // since the epoch
  int64_t (*mono_ns)() noexcept;  // since an arbitrary fixed moment; monotonic
};

inline int64_t ReadClockNs(clockid_t id) noexcept {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<int64_t>(now.tv_sec) * kSecondNs + now.tv_nsec;
}

inline constexpr Clock kSystemClock = {
    []() noexcept { return ReadClockNs(CLOCK_REALTIME); },
    []() noexcept { return ReadClockNs(CLOCK_MONOTONIC); },
};

}  // namespace goodput
