// The ranks that others wait for, from marks of several ranks.
#include "tools/accounting/timeline/rank_wait.h"

#include <gtest/gtest.h>

#include "tests/unit/run_builder.h"

namespace goodput {
namespace {

// Four ranks take five steps of 10 s from 10 s on; rank 3 begins each of them `late` seconds after the
// others.
AttemptBuilder& FourRanks(RunBuilder& run, double late) {
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int task = 0; task < 4; ++task)
    attempt.TaskStarts(0, 0, task)
        .In(0, task)
        .Steps(1, 5, task == 3 ? 10 + late : 10, 10)
        .TaskExits(60, 0, 0, task);
  return attempt.Ended(60, "COMPLETED");
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
  // Not the first step: four of five, in each of which three of four ranks waited for 2 s.
  EXPECT_EQ(wait.late_steps, 4);
  EXPECT_EQ(wait.longest, 2 * kSecond);
  ASSERT_EQ(wait.of_start.size(), 1U);
  EXPECT_EQ(wait.of_start[0], 4 * kSecond * 3 / 2);
  ASSERT_EQ(wait.late.size(), 1U);
  EXPECT_EQ(wait.late[0].task, Teller(0, 3));
  EXPECT_EQ(wait.late[0].steps, 4);
  const Account account = run.Count();
  ASSERT_TRUE(account.rank_wait);
  // 6 of 50 s.
  EXPECT_EQ(*account.rank_wait * 50, Productive(account) * 6);
}

TEST(RankWait, WhatTheClocksOfNodesMayDifferIsNoWait) {
  RunBuilder run;
  FourRanks(run, 0.01);
  ASSERT_TRUE(run.Build().rank_wait);
  EXPECT_EQ(run.Build().rank_wait->late_steps, 0);
  EXPECT_EQ(run.Count().rank_wait, GpuNs{0});
  RunBuilder more;
  FourRanks(more, 0.011);
  EXPECT_EQ(more.Build().rank_wait->late_steps, 4);
}

TEST(RankWait, OneRankTellsNothing) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 0, 60, 0).Steps(1, 5, 10, 10).Ended(60, "COMPLETED");
  EXPECT_FALSE(run.Build().rank_wait);
  EXPECT_FALSE(run.Count().rank_wait);
}

TEST(RankWait, RanksThatDoNotTrainInStepDoNotWaitForEachOther) {
  RunBuilder run;
  FourRanks(run, 10.5);
  EXPECT_FALSE(run.Build().rank_wait);
}

TEST(RankWait, TimesOfAWrongClockAreNotCompared) {
  RunBuilder run;
  FourRanks(run, 2);
  RunFacts facts = run.Facts();
  facts.clocks_differed = true;
  EXPECT_FALSE(BuildTimeline(facts).rank_wait);
}

TEST(RankWait, TimesAtWhichOutputWasReadAreNotCompared) {
  RunBuilder run;
  FourRanks(run, 2);
  RunFacts facts = run.Facts();
  facts.sources[0].evidence = Evidence::kLog;
  EXPECT_FALSE(BuildTimeline(facts).rank_wait);
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
  EXPECT_EQ(timeline.rank_wait->late_steps, 0);
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
  EXPECT_EQ(timeline.rank_wait->late_steps, 1);
}

}  // namespace
}  // namespace goodput
