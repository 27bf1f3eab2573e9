// Realistic input: sparse, duplicated, out of order, truncated, contradictory, and read late.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/allocation_check.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/kept_steps_check.h"

namespace goodput {
namespace {

Ns NsIn(const Timeline& timeline, Bucket bucket) {
  return TakeAccount(timeline).buckets[static_cast<std::size_t>(bucket)].ns;
}

TEST(Input, StepsLoggedEveryTenAreLostAndKeptByNumber) {
  RunBuilder run;
  AttemptBuilder& first = run.Attempt().Submitted(0).Started(0).Srun(0, 0, 165, 9);
  for (std::int64_t i = 0; i <= 5; ++i) first.Step(10 * i, static_cast<double>(10 + 25 * i));
  first.Ended(165, "FAILED");
  AttemptBuilder& second =
      run.Attempt().Submitted(165).Started(200).Srun(0, 200, 300, 0).Restore(34, 205, 210);
  second.Step(40, 225).Step(50, 250).Step(60, 275).Ended(300, "COMPLETED");
  const Timeline timeline = run.Build();
  // 0 to 34 of the first attempt: three records and half of the fourth.
  EXPECT_EQ(timeline.attempts[0].kept_step, 34);
  EXPECT_EQ(timeline.steps.kept, 35 + 30);
  EXPECT_EQ(timeline.steps.lost, 60 - 35);
  EXPECT_EQ(NsIn(timeline, Bucket::kProductive), static_cast<Ns>((75 + 12.5 + 75) * 1e9));
  // The next line of the log was step 40: nothing shows that 35 to 39 ran.
  EXPECT_EQ(InWords(ReadLedger(timeline)), "65 kept of steps 0 to 69; no record that 35 to 39 began");
}

TEST(Input, SeveralRanksMarkingOneStepMakeOneStep) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    attempt.TaskStarts(0, 0, rank).In(0, rank).Steps(0, 9, 10 + rank * 0.1, 10).TaskExits(110, 0, 0, rank);
  }
  attempt.Ended(110, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-110");
  EXPECT_EQ(run.Build().steps.executed, 10);
}

TEST(Input, OrderAndDuplicatesChangeNothing) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt()
                                .Submitted(0)
                                .Started(0)
                                .Ready(2)
                                .Srun(0, 5, 115, 1)
                                .Steps(0, 9, 10, 10)
                                .Save(4, 58, 60)
                                .Phase("evaluation", 75, 78)
                                .Ended(116, "FAILED");
  const std::string told = run.Story();
  EXPECT_NE(told.find("checkpoint_save 58-60"), std::string::npos) << told;
  AttemptFacts& facts = attempt.facts;
  const auto disturb = [](auto& list) {
    const auto copy = list;
    list.insert(list.end(), copy.rbegin(), copy.rend());
    std::reverse(list.begin(), list.end());
  };
  disturb(facts.step_marks);
  disturb(facts.marks);
  disturb(facts.node_events);
  EXPECT_EQ(run.Story(), told);
}

TEST(Input, ANodeThatSaidNothingOfTheEndLeavesThatToTheScheduler) {
  RunBuilder run;
  // No exit, no end of the save, no end of the phase.
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .TaskStarts(5, 0)
      .Steps(0, 5, 10, 10)
      .PhaseBegins("evaluation", 53)
      .SaveBegins(5, 65)
      .Ended(80, "NODE_FAIL");
  EXPECT_EQ(
      run.Story(),
      "provisioning 0-5 | startup 5-10 | lost_work 10-53 | overhead.evaluation 53-60 | lost_work 60-65 | "
      "checkpoint_save 65-80");
}

TEST(Input, ARestartThatDiesBeforeAStepLosesNothingMore) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 0, 65, 1).Steps(0, 5, 10, 10).Ended(65, "FAILED");
  run.Attempt().Submitted(65).Started(70).Srun(0, 70, 90, 1).Phase("init", 75, 80).Ended(90, "FAILED");
  run.Attempt().Submitted(90).Started(100).Srun(0, 100, 150, 0).Steps(4, 7, 110, 10).Ended(150, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 8);
  EXPECT_EQ(timeline.steps.lost, 2);
  EXPECT_EQ(timeline.interruptions.size(), 2U);
  EXPECT_EQ(InWords(ReadLedger(timeline)), "8 kept = steps 0 to 7, each once");
  EXPECT_NE(run.Story().find("startup 70-75 | startup.init 75-80 | startup 80-90"), std::string::npos)
      << run.Story();
}

TEST(Input, StepsUnderAMillisecondAddUp) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 0, 3, 0).Steps(0, 3999, 1, 0.0005).Ended(3, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 4000);
  EXPECT_EQ(timeline.steps.median, 500'000);
  EXPECT_EQ(RunBuilder::Tell(timeline), "startup 0-1 | productive 1-3");
}

TEST(Input, StepsOfTheSameMomentAreCountedAndTakeNoTime) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 3, 0)
      .Steps(0, 9, 1, 0)
      .Steps(10, 11, 2, 0.5)
      .Ended(3, "COMPLETED");
  EXPECT_EQ(run.Build().steps.kept, 12);
  EXPECT_EQ(run.Story(), "startup 0-1 | productive 1-3");
}

TEST(Input, APhaseAcrossAStepsBorderIsOverheadUntilThatStepBegins) {
  RunBuilder run;
  // From then on the loop trains again, whatever the phase is.
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 60, 0)
      .Steps(0, 4, 10, 10)
      .Phase("profile", 25, 45)
      .Ended(60, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-25 | overhead.profile 25-30 | productive 30-60");
}

TEST(Input, APhaseOfTheStartThatLastsIntoTheFirstStepsIsStartupUntilThen) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 40, 0)
      .Phase("warmup", 5, 25)
      .Steps(0, 2, 10, 10)
      .Ended(40, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-5 | startup.warmup 5-10 | productive 10-40");
}

TEST(Input, KilledAndAskedAboutADayLaterIsWhatItWasAtItsEnd) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .SrunKilled(0, 0, 65)
      .Steps(0, 5, 10, 10)
      .Save(2, 39, 40)
      .Ended(66, "CANCELLED");
  const std::string then = run.Now(67).Story();
  const Account account = run.Count();
  EXPECT_EQ(run.Now(67 + 86400).Story(), then);
  EXPECT_EQ(run.Count().definitions.ettr_1h, account.definitions.ettr_1h);
  EXPECT_FALSE(run.Build().running);
}

TEST(Input, ARunningJobThatSaysNothingForADayIsUnobservedNotStalled) {
  RunBuilder run;
  run.Now(86400).Attempt().Submitted(0).Started(0).TaskStarts(0, 0).Steps(0, 5, 10, 10).Save(2, 39, 40);
  const Timeline timeline = run.Build();
  EXPECT_EQ(NsIn(timeline, Bucket::kStall), 0);
  EXPECT_EQ(NsIn(timeline, Bucket::kUnobserved), (86400 - 70) * kSecond);
  EXPECT_TRUE(timeline.stalls.empty());
  EXPECT_EQ(TakeAccount(timeline).definitions.ettr_1h, 0);
}

TEST(Input, AttemptsOfDifferentSizesWeighWhatTheyHad) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Gpus(32)
      .SrunKilled(0, 0, 60)
      .Steps(0, 4, 10, 10)
      .Ended(60, "NODE_FAIL");
  run.Attempt()
      .Submitted(60)
      .Started(80)
      .Gpus(16)
      .Srun(0, 80, 180, 0)
      .Steps(2, 5, 90, 20)
      .Ended(180, "COMPLETED");
  const Account account = run.Count();
  // Kept are steps 0 and 1 on 32 GPUs, and four steps of 20 s (the last one lasts until the exit, 30 s) on
  // 16.
  EXPECT_NEAR(*account.goodput.runtime, (20.0 * 32 + 90 * 16) / (60.0 * 32 + 100 * 16), 1e-12);
  // The wait in between was for 16 GPUs.
  EXPECT_NEAR(*account.goodput.scheduling, (60.0 * 32 + 100 * 16) / (60.0 * 32 + 120 * 16), 1e-12);
  EXPECT_TRUE(ReadAllocatedTime(run.Build()).agrees());
}

TEST(Input, AnAsynchronousCheckpointCountsFromItsCompletionForStepsEndedByItsBegin) {
  const auto at_risk = [](double now) {
    RunBuilder run;
    AttemptBuilder& attempt =
        run.Now(now).Attempt().Submitted(0).Started(0).TaskStarts(0, 0).Steps(0, 5, 10, 10).SaveBegins(2, 40);
    if (now >= 65) attempt.SaveEnds(2, 65);
    return run.Build().steps.at_risk;
  };
  EXPECT_EQ(at_risk(64), 6) << "it may yet fail";
  EXPECT_EQ(at_risk(66), 3) << "what was trained while it was written is not in it";
}

TEST(Input, AnAsynchronousCheckpointAtTheTopOfAStepHasNothingOfThatStep) {
  RunBuilder run;
  run.Now(66)
      .Attempt()
      .Submitted(0)
      .Started(0)
      .TaskStarts(0, 0)
      .Steps(0, 5, 10, 10)
      .SaveBegins(2, 40.5)
      .SaveEnds(2, 65);
  EXPECT_EQ(run.Build().steps.kept, 3);
}

TEST(Input, ACorruptCheckpointIsNoneWhereTheRunResumedFurtherBack) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .SrunKilled(0, 0, 115)
      .Steps(0, 9, 10, 10)
      .Save(2, 39, 40)
      .Save(6, 79, 80)
      .Ended(115, "NODE_FAIL");
  // Step 7 would have been next.
  run.Attempt()
      .Submitted(115)
      .Started(120)
      .Srun(0, 120, 230, 0)
      .Restore(2, 121, 125)
      .Steps(3, 12, 130, 10)
      .Ended(230, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.attempts[0].kept_step, 2);
  EXPECT_EQ(timeline.steps.lost, 7);
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  // From the usable save to the begin of the step in which it died.
  EXPECT_EQ(timeline.interruptions[0].t_ch, (100 - 39) * kSecond);
  EXPECT_EQ(InWords(ReadLedger(timeline)), "13 kept = steps 0 to 12, each once");
}

TEST(Input, ARestartFromZeroLosesEverythingBefore) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .SrunKilled(0, 0, 65)
      .Steps(0, 5, 10, 10)
      .Save(2, 39, 40)
      .Ended(65, "FAILED");
  run.Attempt().Submitted(65).Started(70).Srun(0, 70, 160, 0).Steps(0, 7, 80, 10).Ended(160, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_FALSE(timeline.attempts[0].kept_step);
  EXPECT_EQ(timeline.steps.kept, 8);
  EXPECT_EQ(timeline.steps.lost, 6);
  EXPECT_EQ(InWords(ReadLedger(timeline)), "8 kept = steps 0 to 7, each once");
}

// Trained for an hour, then waits for resources from 4000 on.
void Waits(RunBuilder& run, double until) {
  run.Now(until);
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Gpus(8)
      .SrunKilled(0, 0, 4000)
      .Steps(0, 39, 0, 100)
      .Save(38, 3899, 3900)
      .Ended(4000, "NODE_FAIL");
  run.Attempt().Submitted(4000).Eligible(4000).Waits(4000, "Resources").State("PENDING").Gpus(8);
}

TEST(Outage, TheLastHourOfAWaitIsZero) {
  RunBuilder run;
  Waits(run, 4000 + 2 * 3600);
  const Definitions definitions = run.Count().definitions;
  EXPECT_EQ(definitions.ettr_1h, 0);
  EXPECT_GT(*definitions.ettr, 0.3);
}

TEST(Outage, AWindowInsideIsZeroAndNeverAnErrorOrAll) {
  RunBuilder run;
  Waits(run, 4000 + 2 * 3600);
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(5000), At(6000));
  const Account account = TakeAccount(timeline);
  EXPECT_EQ(account.goodput.scheduling, 0);
  EXPECT_EQ(account.goodput.sg_rg, 0);
  EXPECT_FALSE(account.goodput.runtime) << "nothing was up that could have trained";
  EXPECT_EQ(account.definitions.ettr, 0);
  EXPECT_EQ(account.definitions.ettr_1h, 0);
  EXPECT_EQ(account.definitions.google_api, 0);
  EXPECT_FALSE(account.definitions.nvcre) << "all of it was scheduling";
}

TEST(Outage, AWindowBeforeTheFirstStartIsZeroToo) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(100).Srun(0, 100, 200, 0).Steps(0, 9, 100, 10).Ended(200, "COMPLETED");
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(10), At(50));
  const Account account = TakeAccount(timeline);
  EXPECT_EQ(account.goodput.sg_rg, 0);
  EXPECT_EQ(account.definitions.ettr_1h, 0);
  EXPECT_FALSE(account.definitions.google_api);
}

}  // namespace
}  // namespace goodput
