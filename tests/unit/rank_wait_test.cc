// The ranks that others wait for, from marks of several ranks.
#include "tools/accounting/timeline/rank_wait.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/exclude.h"

namespace goodput {
namespace {

// Seconds after the time at which a step of a rank begins; absent: the rank does not mark it.
using Late = std::function<std::optional<double>(int rank, int step)>;

// Ranks that take steps first..last of 10 s, step N from 10 N s on. Those from `on_second` on are on n2.
AttemptBuilder& Train(AttemptBuilder& attempt, int ranks, int first, int last, const Late& late,
                      int on_second = 1000) {
  for (int rank = 0; rank < ranks; ++rank) {
    attempt.From(0).TaskStarts(10 * first - 10, 0, rank).TaskExits(10 * last + 10, 0, 0, rank);
    attempt.From(rank < on_second ? 0 : 1).In(0, rank);
    for (int step = first; step <= last; ++step) {
      if (const std::optional<double> by = late(rank, step)) attempt.Step(step, 10 * step + *by);
    }
  }
  return attempt.Ended(10 * last + 10, "COMPLETED");
}

AttemptBuilder& Ranks(RunBuilder& run, int ranks, int steps, const Late& late, int on_second = 1000) {
  return Train(run.Attempt().Submitted(0).Started(0), ranks, 1, steps, late, on_second);
}

// Rank 3 of four begins each step `late` seconds after the others.
AttemptBuilder& FourRanks(RunBuilder& run, double late, int steps = 5) {
  return Ranks(run, 4, steps, [=](int rank, int) { return rank == 3 ? late : 0; });
}

// Of a GPU.
Ns WaitIn(const Timeline& timeline) {
  Ns sum = 0;
  for (const LateStep& step : timeline.rank_wait.value_or(RankWait()).steps) sum += step.wait;
  return sum;
}
Ns MostIn(const Timeline& timeline) {
  Ns sum = 0;
  for (const LateStep& step : timeline.rank_wait.value_or(RankWait()).steps) sum += step.most;
  return sum;
}
std::size_t Measured(const Timeline& timeline) {
  return timeline.rank_wait.value_or(RankWait()).measured.size();
}

GpuNs Productive(const Account& account) {
  return account.buckets[static_cast<std::size_t>(Bucket::kProductive)].gpu_ns;
}

TEST(RankWait, EachOfTheOthersWaitsForTheLastRank) {
  RunBuilder run;
  FourRanks(run, 2);
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  const RankWait& wait = *timeline.rank_wait;
  EXPECT_EQ(wait.ranks, 4U);
  EXPECT_EQ(wait.left_out, 0U);
  // Not the first step: four of five, in each of which three of four ranks waited for 2 s.
  EXPECT_EQ(wait.measured.size(), 4U);
  EXPECT_EQ(wait.kept, 5);
  EXPECT_EQ(wait.late_steps(), 4);
  EXPECT_EQ(wait.longest(), 2 * kSecond);
  EXPECT_EQ(WaitIn(timeline), 4 * kSecond * 3 / 2);
  ASSERT_EQ(wait.late.size(), 1U);
  EXPECT_EQ(wait.late[0].task, Teller(0, 3));
  EXPECT_EQ(wait.late[0].steps, 4);
  const Account account = run.Count();
  ASSERT_TRUE(account.rank_wait);
  // 6 of 50 s.
  EXPECT_EQ(account.rank_wait->wait * 50, Productive(account) * 6);
  EXPECT_EQ(account.rank_wait->most, account.rank_wait->wait);
}

TEST(RankWait, WhatTheClocksOfNodesMayDifferIsNoWait) {
  RunBuilder run;
  FourRanks(run, 0.01);
  ASSERT_TRUE(run.Build().rank_wait);
  EXPECT_EQ(run.Build().rank_wait->late_steps(), 0);
  EXPECT_EQ(run.Count().rank_wait->most, GpuNs{0});
  RunBuilder more;
  FourRanks(more, 0.011);
  EXPECT_EQ(more.Build().rank_wait->late_steps(), 4);
}

TEST(RankWait, OneRankTellsNothing) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 0, 60, 0).Steps(1, 5, 10, 10).Ended(60, "COMPLETED");
  EXPECT_FALSE(run.Build().rank_wait);
  EXPECT_EQ(run.Build().rank_wait_why, "fewer than two ranks marked the begins of steps");
  EXPECT_FALSE(run.Count().rank_wait);
}

TEST(RankWait, RanksThatDoNotTrainInStepDoNotWaitForEachOther) {
  RunBuilder two;
  Ranks(two, 2, 20, [](int rank, int step) { return rank * (step + 10.5); });
  EXPECT_FALSE(two.Build().rank_wait);
  EXPECT_EQ(two.Build().rank_wait_why, "its ranks do not train in step");
  // The others do.
  RunBuilder run;
  FourRanks(run, 10.5);
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait->ranks, 3U);
  EXPECT_EQ(timeline.rank_wait->left_out, 1U);
  EXPECT_EQ(Measured(timeline), 4U);
  EXPECT_EQ(WaitIn(timeline), 0);
}

TEST(RankWait, AStartOutOfStepDoesNotHideTheOthers) {
  RunBuilder run;
  Train(run.Attempt(1).Submitted(0).Started(0), 2, 1, 20, [](int rank, int step) {
    return rank * (step + 10.5);
  }).Ended(210, "COMPLETED");
  Train(run.Attempt(2).Submitted(210).Started(210), 2, 22, 31, [](int rank, int) { return rank * 2.; });
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(Measured(timeline), 9U);
  EXPECT_EQ(timeline.rank_wait->kept, timeline.steps.kept);
  EXPECT_EQ(WaitIn(timeline), 9 * kSecond);
  EXPECT_EQ(timeline.rank_wait->late[0].attempt, 1);
}

TEST(RankWait, AStepThatOneRankDidNotMarkIsNotMeasured) {
  RunBuilder run;
  Ranks(run, 4, 20, [](int rank, int step) {
    return rank == 1 && step == 7 ? std::nullopt : std::optional<double>(rank == 3 ? 2 : 0);
  });
  const Timeline timeline = run.Build();
  EXPECT_EQ(Measured(timeline), 18U);
  EXPECT_EQ(timeline.rank_wait->kept, 20);
  EXPECT_EQ(WaitIn(timeline), 18 * kSecond * 3 / 2);
}

TEST(RankWait, OneOfManyMissingMarksLeavesNoStepOut) {
  RunBuilder run;
  Ranks(run, 10, 20, [](int rank, int step) {
    return rank == 1 && step == 7 ? std::nullopt : std::optional<double>(rank == 3 ? 2 : 0);
  });
  EXPECT_EQ(Measured(run.Build()), 19U);
}

TEST(RankWait, AMarkThatIsSentTwiceIsTheFirst) {
  RunBuilder run;
  FourRanks(run, 2, 20).In(0, 1).Step(7, 71).Step(9, 99).Step(12, 120);
  const Timeline timeline = run.Build();
  EXPECT_EQ(Measured(timeline), 19U);
  EXPECT_EQ(WaitIn(timeline), 19 * kSecond * 3 / 2);
}

TEST(RankWait, MarksOutOfOrderAreNoRestart) {
  RunBuilder run;
  // Rank 1 marks step 8 when it begins step 7, and step 7 when it begins step 8.
  Ranks(run, 4, 20, [](int rank, int step) -> std::optional<double> {
    if (rank == 1 && step == 7) return 10;
    if (rank == 1 && step == 8) return -10;
    return rank == 3 ? 2 : 0;
  });
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations.size(), 1U);
  EXPECT_EQ(timeline.steps.kept, 20);
  EXPECT_EQ(timeline.steps.lost, 0);
  EXPECT_EQ(Measured(timeline), 17U);
  EXPECT_EQ(WaitIn(timeline), 17 * kSecond * 3 / 2);
}

TEST(RankWait, ARestartOfAllRanksIsNoMarkOutOfOrder) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int rank = 0; rank < 2; ++rank) {
    attempt.TaskStarts(0, 0, rank).TaskExits(130, 0, 0, rank).In(0, rank);
    // A mark every hundred steps; the second start resumes from step 450.
    attempt.Step(100, 10 + rank)
        .Step(200, 20 + rank)
        .Step(300, 30 + rank)
        .Step(400, 40 + rank)
        .Step(500, 50 + rank);
    attempt.Step(450, 80 + rank).Step(550, 90 + rank).Step(650, 100 + rank).Step(750, 110 + rank);
  }
  attempt.Ended(130, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations.size(), 2U);
  EXPECT_EQ(Measured(timeline), 6U);
  EXPECT_EQ(WaitIn(timeline), 6 * kSecond / 2);
}

TEST(RankWait, ARankThatMarksOnlySomeStepsIsLeftOut) {
  RunBuilder run;
  Ranks(run, 4, 30, [](int rank, int step) -> std::optional<double> {
    if (rank == 3 && step % 10 != 0) return std::nullopt;
    return rank == 3 ? 5 : rank == 2 ? 1 : 0;
  });
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait->ranks, 3U);
  EXPECT_EQ(timeline.rank_wait->left_out, 1U);
  EXPECT_EQ(Measured(timeline), 29U);
  EXPECT_EQ(timeline.rank_wait->longest(), kSecond);
}

TEST(RankWait, StepsThatOnlyOneRankMarksAreNotMeasured) {
  RunBuilder run;
  Ranks(run, 2, 30, [](int rank, int step) {
    return rank == 1 && step % 10 != 0 ? std::nullopt : std::optional<double>(rank * 2);
  });
  const Timeline timeline = run.Build();
  // Not step 10, the first of rank 1.
  EXPECT_EQ(Measured(timeline), 2U);
  EXPECT_EQ(timeline.rank_wait->kept, 30);
  EXPECT_EQ(WaitIn(timeline), 2 * kSecond);
}

TEST(RankWait, ASpareThatReplacesARankIsNotLate) {
  RunBuilder run;
  // Rank 4 takes the place of rank 1 in step 11, which it begins 4 s late.
  Ranks(run, 5, 20, [](int rank, int step) -> std::optional<double> {
    if ((rank == 1 && step > 10) || (rank == 4 && step <= 10)) return std::nullopt;
    return rank == 4 && step == 11 ? 4 : 0;
  });
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait->ranks, 5U);
  EXPECT_EQ(Measured(timeline), 18U);
  EXPECT_EQ(timeline.rank_wait->late_steps(), 0);
}

TEST(RankWait, ANodeThatIsAlwaysLateMayHaveAnotherClock) {
  RunBuilder run;
  // Ranks 2 and 3, on n2, are 0.3 s behind; rank 1 is once late by 5 s, and rank 3 once by 5 s more.
  Ranks(
      run, 4, 21,
      [](int rank, int step) {
        if (rank >= 2) return rank == 3 && step == 12 ? 5.3 : 0.3;
        return rank == 1 && step == 10 ? 5. : 0.;
      },
      2);
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  const RankWait& wait = *timeline.rank_wait;
  EXPECT_EQ(wait.late_steps(), 2);
  constexpr Ns kTenth = kSecond / 10;
  // Each of the two is the last in any case. Rank 1: 5 s after one rank, and 5 or 4.7 s after two. Rank 3: 5
  // or 5.3 s after two ranks, and 5 s after one.
  EXPECT_EQ(WaitIn(timeline), kTenth * (50 + 47 + 47) / 4 + kTenth * (50 + 50 + 50) / 4);
  EXPECT_EQ(MostIn(timeline),
            kTenth * (50 + 47 + 47) / 4 + kTenth * (53 + 53 + 50) / 4 + kTenth * 18 * 2 * 3 / 4);
  ASSERT_EQ(wait.doubts.size(), 1U);
  EXPECT_EQ(wait.doubts[0].behind, kTenth * 3);
  EXPECT_EQ(wait.doubts[0].ref.source, 1);
  EXPECT_EQ(wait.late[0].task, Teller(0, 3));
  EXPECT_EQ(run.Count().rank_wait->most, MostIn(timeline));
}

TEST(RankWait, ALateRankBesideAPunctualOneOfItsNodeIsLate) {
  RunBuilder run;
  Ranks(
      run, 4, 20, [](int rank, int) { return rank == 3 ? 0.3 : 0.; }, 2);
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.rank_wait->late_steps(), 19);
  EXPECT_TRUE(timeline.rank_wait->doubts.empty());
  EXPECT_EQ(WaitIn(timeline), MostIn(timeline));
}

// Two nodes of two ranks, of which n2 begins each step 0.3 s late, and ends it `ends` seconds late.
Timeline WithEnds(double ends) {
  RunBuilder run;
  AttemptBuilder& attempt = Ranks(
      run, 4, 20, [](int rank, int) { return rank >= 2 ? 0.3 : 0.; }, 2);
  for (int rank = 0; rank < 4; ++rank) {
    attempt.From(rank / 2).In(0, rank);
    for (int step = 1; step <= 20; ++step) attempt.StepDone(step, 10 * step + 9 + (rank >= 2 ? ends : 0));
  }
  return run.Build();
}

TEST(RankWait, EndsOfStepsTellAClockFromALateNode) {
  const Timeline late = WithEnds(0);
  ASSERT_TRUE(late.rank_wait);
  EXPECT_EQ(late.rank_wait->late_steps(), 19);
  EXPECT_EQ(WaitIn(late), MostIn(late));
  EXPECT_TRUE(late.rank_wait->doubts.empty());
  const Timeline clock = WithEnds(0.3);
  EXPECT_EQ(Measured(clock), 19U);
  EXPECT_EQ(MostIn(clock), 0);
  EXPECT_TRUE(clock.rank_wait->doubts.empty());
}

TEST(RankWait, AThousandRanksWithSomeMarksMissing) {
  constexpr int kRanks = 1200;
  RunBuilder run;
  Ranks(run, kRanks, 40, [](int rank, int step) {
    return (rank * 7 + step) % 50 == 0 ? std::nullopt : std::optional<double>(rank == 1111 ? 3 : 0);
  });
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait->ranks, static_cast<std::size_t>(kRanks));
  EXPECT_GE(Measured(timeline), 37U);
  EXPECT_EQ(timeline.rank_wait->late[0].task, Teller(0, 1111));
  EXPECT_EQ(timeline.rank_wait->late.size(), 1U);
}

TEST(RankWait, OfAPartOfARunAreTheStepsThatBeganInIt) {
  RunBuilder run;
  FourRanks(run, 2, 20);
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(100), At(150));
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(Measured(timeline), 5U);
  EXPECT_FALSE(timeline.rank_wait->kept);
  EXPECT_EQ(WaitIn(timeline), 5 * kSecond * 3 / 2);
  EXPECT_EQ(timeline.rank_wait->late[0].wait, WaitIn(timeline));
  ExcludeTime(timeline, {{At(100), At(120)}});
  EXPECT_EQ(Measured(timeline), 3U);
  EXPECT_EQ(timeline.rank_wait->late[0].steps, 3);
  ClipTimeline(timeline, At(0), At(110));
  EXPECT_FALSE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait_why, "no step of this time was measured");
}

TEST(RankWait, TimesOfAWrongClockAreNotCompared) {
  RunBuilder run;
  FourRanks(run, 2);
  RunFacts facts = run.Facts();
  facts.clocks_differed = true;
  EXPECT_FALSE(BuildTimeline(facts).rank_wait);
  EXPECT_EQ(BuildTimeline(facts).rank_wait_why, "the clock of a node was wrong");
}

TEST(RankWait, TimesAtWhichOutputWasReadAreNotCompared) {
  RunBuilder run;
  FourRanks(run, 2);
  RunFacts facts = run.Facts();
  facts.sources[0].evidence = Evidence::kLog;
  EXPECT_FALSE(BuildTimeline(facts).rank_wait);
  EXPECT_NE(BuildTimeline(facts).rank_wait_why.find("output"), std::string::npos);
}

// Rank 0's output tells the steps; lines with the labels of four ranks tell when each was done with them, of
// which rank 3 is 2 s late. Ranks from `on_second` on are on another node.
RunFacts Labelled(RunBuilder& run, int on_second) {
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int rank = 0; rank < 4; ++rank) {
    attempt.TaskStarts(0, 0, rank, rank < on_second ? "n1" : "n2")
        .TaskExits(220, 0, 0, rank, rank < on_second ? "n1" : "n2");
  }
  attempt.In(0, 0).Steps(1, 20, 10, 10).Ended(220, "COMPLETED");
  for (int rank = 0; rank < 4; ++rank) {
    for (int step = 1; step <= 20; ++step)
      attempt.facts.rank_ends.push_back(
          {At(10 * step + 10 + (rank == 3 ? 2 : 0)), step, 0, rank, {0, 10 * step + rank}});
  }
  RunFacts facts = run.Facts();
  facts.sources[0].evidence = Evidence::kLog;
  return facts;
}

TEST(RankWait, LinesOfSeveralRanksTellWhenEachBeganTheNextStep) {
  RunBuilder run;
  const RunFacts facts = Labelled(run, 2);
  const Timeline timeline = BuildTimeline(facts);
  ASSERT_TRUE(timeline.rank_wait) << timeline.rank_wait_why;
  EXPECT_EQ(timeline.rank_wait->ranks, 4U);
  // Not step 2, the first of the lines.
  EXPECT_EQ(Measured(timeline), 18U);
  EXPECT_EQ(WaitIn(timeline), 18 * kSecond * 3 / 2);
  EXPECT_EQ(timeline.rank_wait->late[0].task, Teller(0, 3));
  RunBuilder alone;
  const RunFacts other = Labelled(alone, 3);
  const Timeline doubtful = BuildTimeline(other);
  EXPECT_EQ(WaitIn(doubtful), 0) << "it may be the clock of its node";
  EXPECT_EQ(MostIn(doubtful), 18 * kSecond * 3 / 2);
}

TEST(RankWait, ASaveOfTheLastRankIsASave) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int task = 0; task < 2; ++task) attempt.TaskStarts(0, 0, task).TaskExits(50, 0, 0, task);
  for (int task = 0; task < 2; ++task) attempt.In(0, task).Step(1, 10).Step(2, 20).Step(4, 40);
  // Rank 0 saves before it begins step 3.
  attempt.In(0, 1).Step(3, 30).In(0, 0).Save(2, 30, 35).Step(3, 35).Ended(50, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_TRUE(timeline.rank_wait);
  EXPECT_EQ(timeline.rank_wait->late_steps(), 0);
  EXPECT_EQ(Measured(timeline), 3U);
}

TEST(RankWait, WhatIsBetweenTheStepsOfALateRankIsWaiting) {
  RunBuilder run;
  AttemptBuilder& attempt = Ranks(run, 2, 20, [](int rank, int) { return rank == 1 ? 2. : 0.; });
  attempt.In(0, 1);
  for (int step = 2; step <= 20; ++step)
    attempt.Phase(std::string(kBetweenSteps), 10 * step - 0.5, 10 * step + 2);
  const Timeline timeline = run.Build();
  EXPECT_EQ(Measured(timeline), 19U);
  EXPECT_EQ(WaitIn(timeline), 19 * kSecond);
}

TEST(RankWait, StepsThatWereLostDoNotCount) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int task = 0; task < 2; ++task)
    attempt.TaskStarts(0, 0, task).In(0, task).Steps(1, 5, 10 + task, 10).TaskExits(60, 1, 0, task);
  attempt.In(0, 0).Save(2, 29.5, 30).Ended(60, "FAILED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.steps.kept, 2);
  // Of the kept two, the first of the start does not count.
  EXPECT_EQ(timeline.rank_wait->late_steps(), 1);
}

}  // namespace
}  // namespace goodput
