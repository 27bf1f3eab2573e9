// Clocks that are set or differ: times are corrected, durations do not change.
#include "tools/accounting/runs/node_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

namespace goodput {
namespace {

using Bound = NodeClock::Bound;
constexpr Ns kEpoch = 1'800'000'000 * kSecond;
constexpr Ns kClock = kEpoch - 5000 * kSecond;  // it has been up for 5000 s

// A job of 60 s from kEpoch on, recorded once per second by a node with this clock.
struct Story {
  std::vector<Ns> truth, written, clock;
  NodeClock node;

  void Write(Ns at, Ns ahead, Bound bound = Bound::kWithin) {
    truth.push_back(at);
    written.push_back(at + ahead);
    clock.push_back(kClock + ahead);
    node.Add(written.back(), clock.back(), bound);
  }
  // `ahead(seconds since begin)`: how far the clock is ahead of the controller's at that time.
  template <typename Ahead>
  void Job(Ahead ahead) {
    Write(kEpoch + kSecond / 5, ahead(0), Bound::kAfterStart);
    for (int s = 1; s < 60; ++s) Write(kEpoch + s * kSecond, ahead(s));
    Write(kEpoch + 60 * kSecond, ahead(60), Bound::kBeforeEnd);
    node.Settle({{kEpoch, kEpoch + 60 * kSecond, true}});
  }
  // The largest error of a corrected time.
  Ns Error() const {
    Ns worst = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      worst = std::max(worst, std::abs(node.Correct(written[i], clock[i]) - truth[i]));
    return worst;
  }
};

TEST(NodeClock, AGoodClockIsLeftAlone) {
  Story story;
  story.Job([](int) { return 0; });
  EXPECT_EQ(story.Error(), 0);
  EXPECT_TRUE(story.node.findings().empty());
}

TEST(NodeClock, OfABootNobodyKnowsAnotherClockIsAnotherBoot) {
  Story story;
  story.node.MayBeManyBoots();
  // The node failed after 20 s and was up again at once; its wall clock was right.
  story.Write(kEpoch + kSecond / 5, 0, Bound::kAfterStart);
  story.Write(kEpoch + 20 * kSecond, 0);
  for (const Ns at : {50, 55}) {
    story.node.Add(kEpoch + at * kSecond, kEpoch + 40 * kSecond, Bound::kWithin);
  }
  story.node.Settle({{kEpoch, kEpoch + 60 * kSecond, true}});
  EXPECT_EQ(story.node.Correct(kEpoch + 20 * kSecond, kClock), kEpoch + 20 * kSecond);
  EXPECT_EQ(story.node.Correct(kEpoch + 50 * kSecond, kEpoch + 40 * kSecond), kEpoch + 50 * kSecond);
  EXPECT_TRUE(story.node.findings().empty());
}

TEST(NodeClock, WhatNtpSlewsIsNoJump) {
  Story story;
  story.Job([](int s) { return s * 2'000'000; });
  EXPECT_LE(story.Error(), kSecond / 5);
  EXPECT_TRUE(story.node.findings().empty());
}

TEST(NodeClock, AnHourForwardsOrBackwardsMovesNothing) {
  for (const Ns jump : {3600 * kSecond, -3600 * kSecond, 5 * kSecond, -5 * kSecond}) {
    Story story;
    story.Job([jump](int s) { return s < 40 ? 0 : jump; });
    EXPECT_EQ(story.Error(), 0) << jump;
    ASSERT_EQ(story.node.findings().size(), 1U);
    EXPECT_EQ(story.node.findings()[0].when, kEpoch + 40 * kSecond);
  }
  Story story;
  story.Job([](int s) { return s < 10 ? 0 : 3600 * kSecond; });
  EXPECT_EQ(story.Error(), 0) << "also when most of it was written by the wrong clock";
  EXPECT_EQ(story.node.findings()[0].text, "was set by +3600.0 s");
}

TEST(NodeClock, AwayAndBackAreTwoFindingsAndManyAreSummed) {
  Story story;
  story.Job([](int s) { return s < 20 || s >= 40 ? 0 : -3600 * kSecond; });
  EXPECT_EQ(story.Error(), 0);
  ASSERT_EQ(story.node.findings().size(), 2U);
  EXPECT_EQ(story.node.findings()[1].text, "was set by +3600.0 s");
  Story often;
  often.Job([](int s) { return s % 2 == 0 ? 0 : 100 * kSecond; });
  EXPECT_EQ(often.Error(), 0);
  ASSERT_EQ(often.node.findings().size(), 4U);
  EXPECT_EQ(often.node.findings()[3].text, "was set by -100.0 s, and 56 times more");
}

TEST(NodeClock, AClockApartIsBroughtWithinASecond) {
  for (const int ahead : {4, -3, 30, -30, 3600, -3600}) {
    Story story;
    story.Job([ahead](int) { return ahead * kSecond; });
    EXPECT_LE(story.Error(), kSecond / 2) << ahead;
    // Another node recorded the same moments.
    story.node.Align(story.truth[5] - story.node.Correct(story.written[5], story.clock[5]));
    EXPECT_EQ(story.Error(), 0) << ahead;
    EXPECT_NE(story.node.findings()[0].text.find(std::to_string(std::abs(ahead)) + " s"), std::string::npos)
        << story.node.findings()[0].text;
    ASSERT_EQ(story.node.findings().size(), 1U) << ahead;
    EXPECT_NE(story.node.findings()[0].text.find(ahead > 0 ? "ahead of" : "behind"), std::string::npos);
  }
}

TEST(NodeClock, TasksThatOutliveAKilledAttemptDoNotMoveIt) {
  NodeClock node;
  node.Add(kEpoch, kClock, Bound::kAfterStart);
  node.Add(kEpoch + 90 * kSecond, kClock, Bound::kBeforeEnd);
  node.Settle({{kEpoch, kEpoch + 60 * kSecond, false}});
  EXPECT_TRUE(node.findings().empty());
  EXPECT_EQ(node.Correct(kEpoch, kClock), kEpoch);
}

TEST(NodeClock, ASlowPrologAndTasksThatLingerAreNoClock) {
  NodeClock node;
  node.Add(kEpoch + 40 * kSecond, kClock, Bound::kAfterStart);
  node.Add(kEpoch + 85 * kSecond, kClock, Bound::kWithin);
  node.Add(kEpoch + 85 * kSecond, kClock, Bound::kBeforeEnd);
  node.Add(kEpoch + 500 * kSecond, kClock, Bound::kFree);
  node.Settle({{kEpoch, kEpoch + 60 * kSecond, false}});
  EXPECT_TRUE(node.findings().empty());
  EXPECT_EQ(node.Correct(kEpoch, kClock), kEpoch);
}

TEST(NodeClock, WhatNtpCorrectedStaysCorrected) {
  // The monotonic clock gains 2 ms a second on the wall's; after 40 s the wall is set by an hour.
  NodeClock node;
  const auto gained = [](int s) { return s * (kSecond / 500); };
  for (int s = 0; s <= 60; ++s) {
    const Ns ahead = s < 40 ? 0 : 3600 * kSecond;
    const Bound bound = s == 0 ? Bound::kAfterStart : s == 60 ? Bound::kBeforeEnd : Bound::kWithin;
    node.Add(kEpoch + s * kSecond + ahead, kClock + ahead - gained(s), bound);
  }
  node.Settle({{kEpoch, kEpoch + 60 * kSecond, true}});
  EXPECT_EQ(node.Correct(kEpoch + 30 * kSecond, kClock - gained(30)) - node.Correct(kEpoch, kClock),
            30 * kSecond);
}

TEST(NodeClock, WhatAccountingRoundsAwayMovesNoClock) {
  Story story;
  story.Write(kEpoch - kSecond / 5, 0, Bound::kAfterStart);
  for (int s = 1; s < 60; ++s) story.Write(kEpoch + s * kSecond, s < 40 ? 0 : 3600 * kSecond);
  story.node.Settle({{kEpoch, kEpoch + 60 * kSecond, true}});
  EXPECT_EQ(story.Error(), 0);
}

TEST(NodeClock, WhereNoSingleShiftExplainsTheRecordsItsFirstRecordDecides) {
  NodeClock node;
  node.Add(kEpoch - 10 * kSecond, kClock, Bound::kAfterStart);
  node.Add(kEpoch + 70 * kSecond, kClock, Bound::kBeforeEnd);
  node.Settle({{kEpoch, kEpoch + 60 * kSecond, true}});
  EXPECT_EQ(node.Correct(kEpoch - 10 * kSecond, kClock), kEpoch);
}

TEST(NodeClock, WithoutAllocationsOrRecordsNothingIsClaimed) {
  NodeClock node;
  node.Settle({});
  EXPECT_EQ(node.Correct(1, 2), 1);
  node.Add(kEpoch, kClock, Bound::kWithin);
  node.Add(kEpoch, kClock + 9 * kSecond, Bound::kWithin);
  node.Settle({});
  EXPECT_EQ(node.Correct(kEpoch, kClock), kEpoch);
}

// Whatever the clocks do, the distance of two records is that of the monotonic clock.
TEST(NodeClock, DurationsAreAlwaysRight) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Story story;
    Ns ahead = 0;
    story.Job([&](int) {
      if (random() % 8 == 0) ahead = static_cast<Ns>(random() % 7200 + 1) * kSecond - 3600 * kSecond;
      return ahead;
    });
    for (std::size_t i = 1; i < story.truth.size(); ++i) {
      EXPECT_EQ(story.node.Correct(story.written[i], story.clock[i]) -
                    story.node.Correct(story.written[i - 1], story.clock[i - 1]),
                story.truth[i] - story.truth[i - 1])
          << round;
    }
  }
}

}  // namespace
}  // namespace goodput
