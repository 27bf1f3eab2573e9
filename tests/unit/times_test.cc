// Times in Slurm's output and in users' input.
#include <gtest/gtest.h>

#include <cstdint>

#include "tools/base/parse_time.h"
#include "tools/sources/slurm/slurm_time.h"

namespace goodput {
namespace {

TEST(SlurmTime, SecondsAndCivilTimesAreReadAndWhatIsNoneIsAbsent) {
  EXPECT_EQ(ParseSlurmTime("1767225600"), 1'767'225'600);
  EXPECT_EQ(ParseSlurmTime(FormatSlurmTime(1'767'225'600)), 1'767'225'600);
  for (const char* none : {"", "Unknown", "None", "0", "-5", "1969-07-20T20:17:40"}) {
    EXPECT_FALSE(ParseSlurmTime(none)) << none;
  }
}

TEST(SlurmTime, WhatNanosecondsCannotHoldIsNoTime) {
  EXPECT_TRUE(ParseSlurmTime("9223372036"));
  for (const char* far : {"9223372037", "9223372036854775807", "9999-01-01T00:00:00", "infinite-future"}) {
    EXPECT_FALSE(ParseSlurmTime(far)) << far;
  }
}

TEST(TimeOption, IsReadAsSacctDoes) {
  const absl::Time now = absl::FromCivil(absl::CivilSecond(2026, 1, 31, 13, 14, 15), absl::LocalTimeZone());
  const auto at = [&](int day, int hour, int minute, int second) {
    return absl::ToUnixNanos(
        absl::FromCivil(absl::CivilSecond(2026, 1, day, hour, minute, second), absl::LocalTimeZone()));
  };
  const std::pair<const char*, Ns> cases[] = {
      {"now", at(31, 13, 14, 15)},
      {"today", at(31, 0, 0, 0)},
      {"midnight", at(31, 0, 0, 0)},
      {"noon", at(31, 12, 0, 0)},
      {"2026-01-30", at(30, 0, 0, 0)},
      {"2026-01-30T08:09:10", at(30, 8, 9, 10)},
      {"01/30/26-08:09:10", at(30, 8, 9, 10)},
      {"01/30/26-08:09", at(30, 8, 9, 0)},
      {"01/30", at(30, 0, 0, 0)},
      {"1/5", at(5, 0, 0, 0)},
      {"0130", at(30, 0, 0, 0)},
      {"01.30", at(30, 0, 0, 0)},
      {"01/30-08:09", at(30, 8, 9, 0)},
      // This year has no such day in the past.
      {"12/31", at(0, 0, 0, 0)},
      {"08:09", at(31, 8, 9, 0)},
      {"now-2hours", at(31, 11, 14, 15)},
      {"now-15", at(31, 13, 14, 0)},
      {"now+1minute", at(31, 13, 15, 15)},
      {"now-3days", at(28, 13, 14, 15)},
      {"@1769900000", 1'769'900'000 * kSecond},
  };
  for (const auto& [text, wanted] : cases) {
    const auto read = ParseTimeOption(text, now);
    ASSERT_TRUE(read.ok()) << text << " " << read.status();
    EXPECT_EQ(*read, wanted) << text;
  }
}

TEST(TimeOption, WhatIsNoTimeIsRefused) {
  for (const char* text :
       {"", "yesterday", "now-", "now-2fortnights", "25:00", "infinite-future", "infinite-past", "9999-01-01",
        "now-9223372036854775807weeks", "@", "@9223372036854775807", "@1.5", "@now"}) {
    const auto read = ParseTimeOption(text, absl::FromUnixSeconds(1'767'225'600));
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_NE(std::string(read.status().message()).find("is not a time; use"), std::string::npos);
  }
}

}  // namespace
}  // namespace goodput
