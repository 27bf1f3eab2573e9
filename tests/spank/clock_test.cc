#include "spank/clock.h"

#include <gtest/gtest.h>

namespace goodput {
namespace {

// Clocks of a process that loses its processor for `g_away_ns` behind each of its first `g_interruptions`
// reads of the wall clock.
constexpr int64_t kApartNs = 5'000'000'000;
int64_t g_mono_ns = 0;
int64_t g_away_ns = 0;
int g_interruptions = 0;

int64_t Mono() noexcept {
  return g_mono_ns += 50;
}

int64_t Real() noexcept {
  const int64_t now = Mono() + kApartNs;
  if (g_interruptions-- > 0) g_mono_ns += g_away_ns;
  return now;
}

int64_t OffsetOf(int interruptions, int64_t away_ns) {
  g_mono_ns = 0;
  g_away_ns = away_ns;
  g_interruptions = interruptions;
  const Moment moment = ReadMoment({Real, Mono});
  return moment.real_ns - moment.mono_ns;
}

TEST(Clock, BothClocksAreReadAtOneMomentWhateverComesBetween) {
  EXPECT_EQ(OffsetOf(0, 0), kApartNs);
  EXPECT_EQ(OffsetOf(3, 40'000'000), kApartNs);
}

TEST(Clock, WhereNoTryIsCloseTheClosestCounts) {
  EXPECT_NEAR(OffsetOf(1000, 4'000), kApartNs, 2'100);
  EXPECT_GE(g_interruptions, 900) << "it does not try for ever";
}

}  // namespace
}  // namespace goodput
