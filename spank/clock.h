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

struct Moment {
  int64_t real_ns = 0;
  int64_t mono_ns = 0;
};

// Both clocks at one moment, to half a microsecond. A process may lose its processor between the two reads
// for as long as a scheduler's time slice; then it reads them again. On a machine where no try is that close,
// the closest counts.
inline Moment ReadMoment(const Clock& clock) noexcept {
  constexpr int64_t kCloseNs = 1000;
  constexpr int kTries = 16;
  Moment closest;
  int64_t least_ns = INT64_MAX;
  for (int i = 0; i < kTries && least_ns > kCloseNs; ++i) {
    const int64_t before_ns = clock.mono_ns();
    const int64_t real_ns = clock.real_ns();
    const int64_t took_ns = clock.mono_ns() - before_ns;
    if (took_ns >= least_ns) continue;
    closest = {real_ns, before_ns + took_ns / 2};
    least_ns = took_ns;
  }
  return closest;
}

}  // namespace goodput
