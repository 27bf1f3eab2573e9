// A controller whose clock is set while a job runs.
#include "tools/runs/controller_clock.h"

#include <gtest/gtest.h>

namespace goodput {
namespace {

constexpr Ns kBoot = 1'800'000'000 * kSecond;  // the clock before it is set

// The watch saw the job at 10 s and 20 s after boot, then the clock was set, then at 40 s and 50 s.
ControllerClock SetBy(Ns jump) {
  ControllerClock clock;
  for (const Ns mono : {10, 20}) clock.Add(kBoot + mono * kSecond, kBoot);
  for (const Ns mono : {40, 50}) clock.Add(kBoot + jump + mono * kSecond, kBoot + jump);
  clock.Settle();
  return clock;
}

TEST(ControllerClock, OneThatNobodySetChangesNothing) {
  ControllerClock clock;
  EXPECT_EQ(clock.OfAccounting(7, 0), 7);
  clock.Add(kBoot + kSecond, kBoot);
  clock.Add(kBoot + 9 * kSecond, kBoot + kSecond / 100);  // NTP
  clock.Settle();
  EXPECT_FALSE(clock.was_set());
  EXPECT_EQ(clock.OfAccounting(7, 0), 7);
  EXPECT_EQ(clock.OfRecord(7, 3), 7);
  EXPECT_TRUE(clock.Findings().empty());
}

TEST(ControllerClock, StartAndEndStayAsFarApartAsTheyWere) {
  for (const Ns jump : {3600 * kSecond, -3600 * kSecond, 40 * kSecond}) {
    const ControllerClock clock = SetBy(jump);
    ASSERT_TRUE(clock.was_set());
    const Ns submit = clock.OfAccounting(kBoot + 9 * kSecond, INT64_MIN / 2);
    const Ns start = clock.OfAccounting(kBoot + 10 * kSecond, submit);
    const Ns end = clock.OfAccounting(kBoot + jump + 45 * kSecond, start);
    EXPECT_EQ(start - submit, kSecond) << jump;
    EXPECT_EQ(end - start, 35 * kSecond) << jump;
    EXPECT_EQ(end, kBoot + jump + 45 * kSecond) << "by the last clock";
    EXPECT_EQ(clock.OfRecord(kBoot + 20 * kSecond, kBoot), start + 10 * kSecond);
    EXPECT_EQ(clock.Findings().size(), 1U);
  }
}

TEST(ControllerClock, SetAndSetBack) {
  ControllerClock clock;
  clock.Add(kBoot + 10 * kSecond, kBoot);
  clock.Add(kBoot + 3620 * kSecond, kBoot + 3600 * kSecond);
  clock.Add(kBoot + 30 * kSecond, kBoot);
  clock.Settle();
  EXPECT_EQ(clock.OfAccounting(kBoot + 10 * kSecond, INT64_MIN / 2), kBoot + 10 * kSecond);
  EXPECT_EQ(clock.OfAccounting(kBoot + 3620 * kSecond, kBoot + 10 * kSecond), kBoot + 20 * kSecond);
  EXPECT_EQ(clock.OfAccounting(kBoot + 35 * kSecond, kBoot + 20 * kSecond), kBoot + 35 * kSecond);
  EXPECT_EQ(clock.Findings().size(), 2U);
}

}  // namespace
}  // namespace goodput
