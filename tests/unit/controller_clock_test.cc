// A controller whose clock is set while a job runs.
#include "tools/accounting/runs/controller_clock.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace goodput {
namespace {

constexpr const char* kOneBoot = "9c1f6f6e";
constexpr Ns kBoot = 1'800'000'000 * kSecond;  // the clock's boot time before it is set

// The queue was watched at 10 s and 20 s after boot; then the clock was set; then at 40 s and 50 s.
ControllerClock SetBy(Ns jump) {
  ControllerClock clock;
  for (const Ns mono : {10, 20}) clock.Add(kBoot + mono * kSecond, kBoot, kOneBoot);
  for (const Ns mono : {40, 50}) clock.Add(kBoot + jump + mono * kSecond, kBoot + jump, kOneBoot);
  clock.Settle();
  return clock;
}

TEST(ControllerClock, OneThatNobodySetChangesNothing) {
  ControllerClock clock;
  EXPECT_EQ(clock.OfAccounting(7, 0), 7);
  clock.Add(kBoot + kSecond, kBoot, kOneBoot);
  clock.Add(kBoot + 9 * kSecond, kBoot + kSecond / 100, kOneBoot);  // NTP
  clock.Settle();
  EXPECT_FALSE(clock.was_set());
  EXPECT_EQ(clock.OfAccounting(7, 0), 7);
  EXPECT_EQ(clock.OfRecord(7, 3, kOneBoot), 7);
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
    EXPECT_EQ(clock.OfRecord(kBoot + 20 * kSecond, kBoot, kOneBoot), start + 10 * kSecond);
    EXPECT_EQ(clock.Findings().size(), 1U);
  }
}

TEST(ControllerClock, SetAndSetBack) {
  ControllerClock clock;
  clock.Add(kBoot + 10 * kSecond, kBoot, kOneBoot);
  clock.Add(kBoot + 3620 * kSecond, kBoot + 3600 * kSecond, kOneBoot);
  clock.Add(kBoot + 30 * kSecond, kBoot, kOneBoot);
  clock.Settle();
  EXPECT_EQ(clock.OfAccounting(kBoot + 10 * kSecond, INT64_MIN / 2), kBoot + 10 * kSecond);
  EXPECT_EQ(clock.OfAccounting(kBoot + 3620 * kSecond, kBoot + 10 * kSecond), kBoot + 20 * kSecond);
  EXPECT_EQ(clock.OfAccounting(kBoot + 35 * kSecond, kBoot + 20 * kSecond), kBoot + 35 * kSecond);
  EXPECT_EQ(clock.Findings().size(), 2U);
}

// The controller was up for 2700 s, and after a reboot for 300 s.
struct Rebooted {
  static constexpr Ns kFirst = kBoot;
  static constexpr Ns kSecondBoot = kBoot + 2555 * kSecond;
  ControllerClock clock;
  explicit Rebooted(std::string_view first, std::string_view second, Ns set_in_second = 0) {
    for (const Ns mono : {2400, 2500}) clock.Add(kFirst + mono * kSecond, kFirst, first);
    for (const Ns mono : {60, 120}) clock.Add(kSecondBoot + mono * kSecond, kSecondBoot, second);
    if (set_in_second != 0) {
      const Ns set = kSecondBoot + set_in_second;
      clock.Add(set + 300 * kSecond, set, second);
    }
    clock.Settle();
  }
};

TEST(ControllerClock, ARebootIsNoClockThatWasSet) {
  // With boot ids, and with files of an unknown boot.
  for (const auto& [first, second] : {std::pair("one", "two"), std::pair("unknown-boot", "unknown-boot")}) {
    const Rebooted boots(first, second);
    EXPECT_FALSE(boots.clock.was_set()) << first;
    const Ns before = Rebooted::kFirst + 2400 * kSecond;
    const Ns after = Rebooted::kSecondBoot + 60 * kSecond;
    EXPECT_EQ(boots.clock.OfAccounting(before, INT64_MIN / 2), before) << first;
    EXPECT_EQ(boots.clock.OfAccounting(after, before), after) << first;
    EXPECT_EQ(boots.clock.OfRecord(before, Rebooted::kFirst, first), before) << first;
    EXPECT_EQ(boots.clock.OfRecord(after, Rebooted::kSecondBoot, second), after) << first;
    EXPECT_TRUE(boots.clock.Shifts().empty()) << first;
    EXPECT_TRUE(boots.clock.Findings().empty()) << first;
  }
}

TEST(ControllerClock, WhatWasSetInOneBootMovesNothingOfAnother) {
  const Rebooted boots("one", "two", 3600 * kSecond);
  EXPECT_TRUE(boots.clock.was_set());
  const Ns before = Rebooted::kFirst + 2400 * kSecond;
  EXPECT_EQ(boots.clock.OfAccounting(before, INT64_MIN / 2), before);
  EXPECT_EQ(boots.clock.OfRecord(before, Rebooted::kFirst, "one"), before);
  const Ns unset = Rebooted::kSecondBoot + 100 * kSecond;
  EXPECT_EQ(boots.clock.OfAccounting(unset, before), unset + 3600 * kSecond);
  EXPECT_EQ(boots.clock.OfRecord(unset, Rebooted::kSecondBoot, "two"), unset + 3600 * kSecond);
  EXPECT_EQ(boots.clock.Shifts(), std::vector<Ns>{3600 * kSecond});
}

}  // namespace
}  // namespace goodput
