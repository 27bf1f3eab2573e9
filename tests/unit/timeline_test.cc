// The timeline by example: events of a run, and the bucket of each second.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/lens.h"

namespace goodput {
namespace {

Ns Total(const Timeline& timeline, Bucket bucket) {
  Ns sum = 0;
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket == bucket) sum += interval.end - interval.begin;
  }
  return sum;
}
double SecondsIn(const Timeline& timeline, Bucket bucket) {
  return InSeconds(Total(timeline, bucket));
}

// A wait of ten seconds, then ten steps of ten seconds each from 20 on.
AttemptBuilder& TrainsTenSteps(RunBuilder& run) {
  return run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0).Steps(0, 9, 20, 10);
}
// The same attempt, killed in the middle of step 9.
AttemptBuilder& DiesInStepNine(RunBuilder& run, const std::string& state = "REQUEUED") {
  return TrainsTenSteps(run).TaskKilled(115, 0, 9).Ended(116, state);
}
// The same job again, from 130 on; the first step begins at 140.
AttemptBuilder& ComesBack(RunBuilder& run) {
  return run.Attempt().Submitted(116).Eligible(116).Started(120).Ready(122).TaskStarts(130, 0);
}

constexpr const char* kFirstTwenty =
    "queue_other.reason not recorded 0-10 | provisioning 10-12 | launch 12-15 | startup 15-20";

// ---- the buckets of an attempt ----

TEST(Timeline, ACompletedRunGoesThroughEveryPhaseInOrder) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) + " | productive 20-120 | teardown 120-121");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.executed, 10);
  EXPECT_EQ(timeline.steps.kept, 10);
  EXPECT_EQ(timeline.steps.median, At(10) - At(0));
  EXPECT_TRUE(timeline.interruptions.empty());
  EXPECT_FALSE(timeline.running);
}

// A log of every fifth step shows when its last steps were done, but nothing after that.
TEST(Timeline, AfterTheLastStepThatWasToldTheNextHadBegun) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Steps(1, 2, 10, 0)
      .TaskKilled(70, 0, 9)
      .Ended(70, "REQUEUED");
  run.Last().facts.step_marks.clear();
  run.Last().Step(1, 10).Step(6, 35).StepDone(10, 60);
  ComesBack(run).Step(11, 140).TaskExits(150, 0, 0).Ended(150, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.executed, 11) << "ten told, and the one it died in when it was done again";
  EXPECT_EQ(timeline.attempts[0].last_step, 10);
  EXPECT_EQ(timeline.attempts[0].kept_step, 10);
  EXPECT_NE(run.Story().find("productive 10-60 | lost_work 60-70"), std::string::npos) << run.Story();
}

// Steps of 1 s from 20 to 30, told with a delay, and killed at `end`.
RunBuilder ToldWithADelay(double end) {
  RunBuilder run;
  AttemptBuilder& attempt =
      run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0).Steps(1, 10, 20, 1);
  Mark mark;
  mark.t = At(30);
  mark.kind = Mark::Kind::kStepEnd;
  mark.begin = false;
  mark.train_step = 10;
  mark.name = std::string(kMayBeMore);
  mark.slurm_step = 0;
  attempt.facts.marks.push_back(mark);
  attempt.TaskKilled(end, 0, 9).Ended(end, "REQUEUED");
  return run;
}

TEST(Timeline, StepsThatMayHaveBeenDoneUntoldCountIfTheNextStartGoesOnAfterThem) {
  RunBuilder run = ToldWithADelay(34.5);
  run.Attempt().Submitted(35).Started(40).Ready(40).TaskStarts(40, 0).Steps(14, 20, 41, 1);
  run.Last().TaskExits(48, 0, 0).Ended(48, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 20);
  EXPECT_EQ(timeline.attempts[0].kept_step, 13);
}

TEST(Timeline, StepsThatMayHaveBeenDoneUntoldAreLostWorkWithoutANumber) {
  const Timeline timeline = ToldWithADelay(34.5).Build();
  EXPECT_EQ(timeline.steps.executed, 10);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kLostWork), 14.5);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kStall), 0);
}

TEST(Timeline, AProgramThatWouldHaveToldMoreByThenHungInItsNextStep) {
  const Timeline timeline = ToldWithADelay(90).Build();
  EXPECT_EQ(SecondsIn(timeline, Bucket::kLostWork), 11);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kStall), 59);
}

TEST(Timeline, AProgramThatExitsWellBeginsNoStepItDidNotTell) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Step(1, 10)
      .Step(6, 35)
      .StepDone(10, 60)
      .TaskExits(61, 0, 0)
      .Ended(61, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.executed, 10);
  EXPECT_EQ(timeline.attempts[0].last_step, 10);
  EXPECT_NE(run.Story().find("productive 10-60"), std::string::npos) << run.Story();
}

TEST(Timeline, WhatAProgramSaysOfAStopCountsWhereNobodySawTheSignal) {
  RunBuilder run;
  TrainsTenSteps(run).SaysStop(112).TaskExits(115, 0, 0).Ended(116, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U) << "exit 0 after it was told to stop is an interruption";
  EXPECT_EQ(timeline.interruptions[0].evidence[0], "told to stop by its own output, 3 s before it ended");
  RunBuilder seen;
  TrainsTenSteps(seen).Signal(111, 15, true).SaysStop(112).TaskExits(115, 0, 0).Ended(116, "COMPLETED");
  EXPECT_EQ(seen.Build().interruptions[0].evidence[0],
            "told to stop by TERM from slurmstepd, 4 s before it ended");
}

TEST(Timeline, NoAttemptsNoTimeline) {
  RunBuilder run;
  const Timeline timeline = run.Build();
  EXPECT_TRUE(timeline.intervals.empty());
  EXPECT_EQ(timeline.begin, timeline.end);
}

TEST(Timeline, ResourcesAreUpWhenTheLastNodeIs) {
  RunBuilder run;
  TrainsTenSteps(run).Ready(14, "n2").TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  EXPECT_NE(run.Story().find("provisioning 10-14 | launch 14-15"), std::string::npos) << run.Story();
}

// Slurm 26.05 does this for an srun without a batch script.
TEST(Timeline, ANodeWhereAProgramRunsIsReadyThoughTheExternStepComesLater) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).TaskStarts(12, 0).Ready(13).Steps(0, 9, 20, 10).TaskExits(120, 0, 0);
  run.Last().Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "queue_other.reason not recorded 0-10 | provisioning 10-12 | startup 12-20 | productive 20-120");

  // The other node's extern step is still awaited.
  run.Last().Ready(15, "n2");
  EXPECT_EQ(run.Story(),
            "queue_other.reason not recorded 0-10 | provisioning 10-15 | startup 15-20 | productive 20-120");
}

TEST(Timeline, WithoutAnExternStepTheFirstStepTellsThatNodesAreReady) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).TaskStarts(5, kBatchStep).TaskStarts(8, 0).Steps(0, 3, 10, 10);
  run.Now(45);
  EXPECT_EQ(run.Story(), "provisioning 0-5 | launch.script 5-8 | startup 8-10 | at_risk 10-45");
}

TEST(Timeline, BetweenTwoSrunsNothingIsAlive) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(1)
      .TaskStarts(2, kBatchStep)
      .Srun(0, 5, 40, 0)
      .Steps(0, 3, 10, 7.5)
      .Srun(1, 50, 90, 0)
      .In(1)
      .Steps(4, 7, 55, 8.75)
      .TaskExits(91, kBatchStep, 0)
      .Ended(92, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "provisioning 0-1 | launch 1-2 | launch.script 2-5 | startup 5-10 | productive 10-40 | "
            "launch.script 40-50 | startup 50-55 | productive 55-90 | launch.script 90-91 | teardown 91-92");
}

TEST(Timeline, WhileAStepIsSetUpImagesAreImported) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(1)
      .TaskStarts(2, kBatchStep)
      .StepStarts(4, 0)
      .Srun(0, 30, 90, 0)
      .Steps(0, 3, 40, 12.5)
      .TaskExits(90, kBatchStep, 0)
      .Ended(90, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "provisioning 0-1 | launch 1-2 | launch.script 2-4 | launch.step_setup 4-30 | startup 30-40 | "
            "productive 40-90");
}

TEST(Timeline, ATaskIsOfTheProgramOnceItHasExecutedIt) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(1).TaskStarts(1, kBatchStep).StepStarts(2, 0).TaskStarts(3, 0);
  run.Last().TaskExecutes(18, 0).Steps(1, 4, 20, 10).TaskExits(60, 0, 0).StepEnds(68, 0);
  run.Last().TaskExits(70, kBatchStep, 0).Ended(71, "COMPLETED");
  EXPECT_EQ(
      run.Story(),
      "provisioning 0-1 | launch.script 1-2 | launch.step_setup 2-18 | startup 18-20 | productive 20-60 | "
      "teardown.step 60-68 | launch.script 68-70 | teardown 70-71");
}

TEST(Timeline, ATaskKilledBeforeItExecutedItsProgramWasSetUpUntilThen) {
  for (const double told : {20.0, 20.001, 25.0}) {  // the clock may be set between the two records
    RunBuilder run;
    run.Attempt().Submitted(0).Started(0).Ready(1).TaskStarts(1, kBatchStep).StepStarts(2, 0);
    run.Last().TaskStarts(3, 0).TaskKilled(20, 0, 10).TaskExecutes(told, 0).StepEnds(22, 0);
    run.Last().TaskExits(30, kBatchStep, 0).Ended(31, "COMPLETED");
    EXPECT_EQ(run.Story(),
              "provisioning 0-1 | launch.script 1-2 | launch.step_setup 2-20 | teardown.step 20-22 | "
              "launch.script 22-30 | teardown 30-31")
        << told;
  }
}

// --- steps that fail and are tried again

TEST(Timeline, AStepThatFailsIsLostWork) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 100, 0).Steps(1, 3, 10, 10).Step(3, 30);
  // It is tried four times; the program marks its begin again, but not always.
  run.Last().StepFails(3, 38).Step(3, 38.5).StepFails(3, 46).StepFails(3, 55).Step(3, 55.5);
  run.Last().Steps(4, 7, 65, 10).Ended(100, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-30 | lost_work.failed_step 30-55 | productive 55-100");
  EXPECT_EQ(timeline.steps.executed, 10);
  EXPECT_EQ(timeline.steps.kept, 7);
  EXPECT_EQ(timeline.steps.lost, 3);
  EXPECT_EQ(timeline.steps.failed, 3);
  EXPECT_EQ(timeline.steps.median, 10 * kSecond) << "they are not of its usual duration";
  EXPECT_TRUE(timeline.interruptions.empty());
}

TEST(Timeline, AStepThatFailsForLongDoesNotStall) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 350, 0).Steps(1, 3, 10, 10);
  for (int failed = 1; failed <= 30; ++failed) run.Last().StepFails(3, 30 + 10 * failed);
  run.Last().Step(4, 340).Ended(350, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "startup 0-10 | productive 10-30 | lost_work.failed_step 30-330 | productive 330-350");
}

TEST(Timeline, AllTasksSayThatAStepFailed) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0);
  attempt.TaskStarts(0, 0, 0).TaskStarts(0, 0, 1);
  for (const double begin : {0, 10, 26, 36}) {
    const auto step = static_cast<std::int64_t>(begin / 10);
    attempt.In(0, 0).Step(step, 10 + begin).In(0, 1).Step(step, 10.01 + begin);
  }
  // One mark of task 0 was dropped.
  attempt.In(0, 0).StepFails(1, 23).In(0, 1).StepFails(1, 23.02).StepFails(1, 26);
  attempt.TaskExits(56, 0, 0, 0).TaskExits(56, 0, 0, 1).Ended(56, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-20 | lost_work.failed_step 20-26 | productive 26-56");
  EXPECT_EQ(run.Build().steps.failed, 2) << "each once, whoever says so";
  EXPECT_EQ(run.Build().steps.kept, 4);
}

TEST(Timeline, WhereEveryTenthStepIsMarkedAFailedTryHasItsShare) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 430, 0);
  attempt.Step(0, 10).Step(10, 110).StepFails(13, 160).StepFails(17, 210).Step(20, 230).Step(30, 330);
  attempt.Ended(430, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(run.Story(),
            "startup 0-10 | productive 10-150 | lost_work.failed_step 150-160 | productive 160-200 | "
            "lost_work.failed_step 200-210 | productive 210-430");
  for (const Interval& interval : timeline.intervals) {
    EXPECT_EQ(interval.evidence == Evidence::kInferred, interval.bucket == Bucket::kLostWork);
  }
  EXPECT_EQ(timeline.steps.median, 10 * kSecond);
  EXPECT_EQ(timeline.steps.kept, 40);
}

TEST(Timeline, OfAFailedTrySavesAndPhasesKeepTheirBuckets) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 70, 0);
  attempt.Steps(0, 3, 10, 10)
      .Phase("evaluation", 31, 33)
      .Save(1, 33, 34)
      .StepFails(2, 38)
      .Steps(3, 5, 48, 10);
  attempt.Ended(70, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "startup 0-10 | productive 10-30 | lost_work.failed_step 30-31 | overhead.evaluation 31-33 | "
            "checkpoint_save 33-34 | lost_work.failed_step 34-38 | productive 38-70");
}

TEST(Timeline, AFailureBeforeTheFirstStepIsNoTryOfOne) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 40, 0).StepFails(1, 5).Steps(1, 3, 10, 10);
  run.Last().Ended(40, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-40");
  EXPECT_EQ(run.Build().steps.failed, 0);
}

TEST(Timeline, ABatchScriptThatTrainsByItselfIsTheProgram) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(1)
      .TaskStarts(2, kBatchStep)
      .In(kBatchStep)
      .Steps(0, 3, 10, 10)
      .TaskExits(50, kBatchStep, 0)
      .Ended(51, "COMPLETED");
  EXPECT_EQ(run.Story(), "provisioning 0-1 | launch 1-2 | startup 2-10 | productive 10-50 | teardown 50-51");
}

TEST(Timeline, StartupHasPartsForWhatTheProgramSaysItDoes) {
  RunBuilder run;
  TrainsTenSteps(run).Phase("init", 15, 16).Phase("data_loading", 16, 18).Phase("restore", 18, 19);
  run.Now(120);
  EXPECT_NE(run.Story().find(
                "startup.init 15-16 | startup.data_loading 16-18 | startup.restore 18-19 | startup 19-20"),
            std::string::npos)
      << run.Story();
}

TEST(Timeline, TheFirstStepsExcessIsCompilation) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 120, 0)
      .Step(0, 10)
      .Steps(1, 5, 70, 10)
      .Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | startup.compile 10-60 | productive 60-120");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.first_step_excess, 0);
}

TEST(Timeline, AFirstStepOfLessThanTwiceTheUsualIsJustSlow) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 78, 0)
      .Step(0, 10)
      .Steps(1, 5, 28, 10)
      .Ended(78, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-78");
  EXPECT_EQ(run.Build().steps.first_step_excess, 8 * kSecond);
}

TEST(Timeline, EvaluationIsOverheadAndLoadingDataInsideAStepIsNot) {
  RunBuilder run;
  TrainsTenSteps(run)
      .Phase("evaluation", 52, 58)
      .Phase("data_loading", 62, 68)
      .TaskExits(120, 0, 0)
      .Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) +
                             " | productive 20-52 | overhead.evaluation 52-58 | productive 58-120");
}

TEST(Timeline, APhaseThatNeverEndsStopsAtTheNextStep) {
  RunBuilder run;
  TrainsTenSteps(run).PhaseBegins("evaluation", 52).TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) +
                             " | productive 20-52 | overhead.evaluation 52-60 | productive 60-120");
}

TEST(Timeline, ASuspendedJobNeitherTrainsNorLoses) {
  RunBuilder run;
  TrainsTenSteps(run).Suspended(55, 58).TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(),
            std::string(kFirstTwenty) + " | productive 20-55 | suspended 55-58 | productive 58-120");
}

TEST(Timeline, WithoutAWordFromTheProgramItsTimeIsUnobserved) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(12).Srun(0, 15, 100, 0).Ended(101, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "queue_other.reason not recorded 0-10 | provisioning 10-12 | launch 12-15 | unobserved.allocated "
            "15-100 | "
            "teardown 100-101");
  const Account account = run.Count();
  EXPECT_FALSE(account.goodput.runtime);
  EXPECT_FALSE(account.goodput.sg_rg);
  EXPECT_TRUE(account.goodput.scheduling);
  EXPECT_FALSE(account.definitions.ettr);
}

TEST(Timeline, AccountingAloneStillSaysWhatWasAllocated) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ended(100, "COMPLETED");
  EXPECT_EQ(run.Story(), "queue_other.reason not recorded 0-10 | unobserved.allocated 10-100");
}

TEST(Timeline, AProgramThatDiesBeforeItsFirstStepWasStartingUp) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 5, 25, 1).Ended(26, "FAILED");
  run.Attempt(2).Submitted(30).Started(30).Srun(0, 35, 75, 0).Steps(0, 3, 40, 8.75).Ended(75, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "provisioning 0-5 | startup 5-25 | teardown 25-26 | resubmit_gap 26-30 | provisioning 30-35 | "
            "startup 35-40 | "
            "productive 40-75");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "failed");
  EXPECT_FALSE(timeline.interruptions[0].t_ch);
  EXPECT_FALSE(timeline.interruptions[0].t_detect);
}

TEST(Timeline, StartupWithoutAStepEndsAtItsLastEvidence) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(1).TaskStarts(5, 0).Phase("init", 6, 9);
  run.Now(60);
  EXPECT_EQ(run.Story(),
            "provisioning 0-1 | launch 1-5 | startup 5-6 | startup.init 6-9 | unobserved.allocated 9-60");
}

// ---- steps, saves, stalls ----

TEST(Timeline, ABlockingSaveIsTimeTheLoopDidNotTrain) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 65, 0)
      .Steps(0, 2, 10, 10)
      .Save(2, 40, 45)
      .Steps(3, 4, 45, 10)
      .Ended(65, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-40 | checkpoint_save 40-45 | productive 45-65");
  EXPECT_EQ(run.Build().steps.median, 10 * kSecond) << "saves are cut out of what a step takes";
}

TEST(Timeline, AnAsynchronousSaveBlocksOnlyUntilTheNextStepBegins) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 2, 10, 10)
      .SaveBegins(2, 40)
      .Steps(3, 6, 41, 10)
      .SaveEnds(2, 65)
      .SrunKilled(0, 0, 75)
      .Ended(75, "NODE_FAIL");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-40 | checkpoint_save 40-41 | lost_work 41-75");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 3);
  EXPECT_EQ(timeline.steps.lost, 4);
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].complete, At(65));
}

TEST(Timeline, ASaveThatNeverCompletesCoversNothing) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 2, 10, 10)
      .SaveBegins(2, 40)
      .SrunKilled(0, 0, 44)
      .Ended(44, "NODE_FAIL");
  EXPECT_EQ(run.Story(), "startup 0-10 | lost_work 10-40 | checkpoint_save 40-44");
}

TEST(Timeline, ASaveCompletedAfterTheAttemptsEndCounts) {
  RunBuilder run;
  TrainsTenSteps(run).TaskKilled(116, 0, 9).Ended(112, "PREEMPTED").SaveBegins(9, 111).SaveEnds(9, 114);
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 9) << "steps 0 to 8 ended before the save began; step 9 had just begun";
  EXPECT_EQ(timeline.end, At(112));
}

TEST(Timeline, StepsMarkedAfterTheAttemptsEndCountButTakeNoneOfItsTime) {
  RunBuilder run;
  TrainsTenSteps(run).TaskKilled(116, 0, 9).Ended(95, "PREEMPTED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) + " | lost_work 20-95");
  EXPECT_EQ(run.Build().steps.executed, 10);
}

TEST(Timeline, ASaveAtTheEndOfAStepHasItsResultAndOneAtItsTopHasNot) {
  for (const bool at_top : {false, true}) {
    RunBuilder run;
    AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Steps(0, 2, 10, 10);
    // Step 3 lasts from 40 to 55, including a save of five seconds.
    attempt.Step(3, 40).Save(std::nullopt, at_top ? 40 : 50, at_top ? 45 : 55).Steps(4, 5, 55, 10);
    attempt.SrunKilled(0, 0, 75).Ended(75, "NODE_FAIL");
    EXPECT_EQ(run.Build().steps.kept, at_top ? 3 : 4);
  }
}

TEST(Timeline, AStepThatTookTooLongHasStalledOnceALaterStepIsSeen) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 5, 10, 10)
      .Steps(6, 8, 160, 10)
      .Srun(0, 0, 190, 0)
      .Ended(190, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-70 | stall 70-160 | productive 160-190");
}

TEST(Timeline, FiveTimesTheUsualIsNotYetAStall) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 5, 10, 10)
      .Steps(6, 8, 110, 10)
      .Srun(0, 0, 140, 0)
      .Ended(140, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-140");
}

TEST(Timeline, JitterBelowASecondIsNoStall) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 5, 10, 0.01)
      .Steps(6, 8, 10.95, 0.01)
      .Srun(0, 0, 10.98, 0)
      .Ended(10.98, "COMPLETED");
  EXPECT_EQ(SecondsIn(run.Build(), Bucket::kStall), 0);
}

TEST(Timeline, AHangThatWasKilledIsAStall) {
  RunBuilder run;
  TrainsTenSteps(run).TaskKilled(400, 0, 9).Ended(401, "TIMEOUT");
  EXPECT_EQ(run.Story(),
            std::string(kFirstTwenty) + " | lost_work 20-120 | stall 120-400 | teardown 400-401");
}

TEST(Timeline, AHangIsAStallUntilSomebodyTellsTheProgramToStop) {
  RunBuilder run;
  TrainsTenSteps(run).Signal(380, SIGTERM, false).TaskKilled(400, 0, 9).Ended(401, "CANCELLED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) +
                             " | lost_work 20-120 | stall 120-380 | drain 380-400 | teardown 400-401");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.stalls.size(), 1U);
  EXPECT_EQ(timeline.stalls[0].ns, 260 * kSecond);
  EXPECT_FALSE(timeline.stalls[0].recovered);
}

TEST(Timeline, AStepLongerThanUsualWhenItIsToldToStopIsNoStall) {
  RunBuilder run;
  TrainsTenSteps(run).Signal(150, SIGTERM, true).TaskKilled(160, 0, 9).Ended(161, "CANCELLED");
  EXPECT_EQ(run.Story(),
            std::string(kFirstTwenty) + " | lost_work 20-120 | drain 120-160 | teardown 160-161");
}

TEST(Timeline, SilenceOfARunningJobIsUnobservedNotAStall) {
  RunBuilder run;
  TrainsTenSteps(run);
  run.Now(400);
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) + " | at_risk 20-120 | unobserved.allocated 120-400");
}

TEST(Timeline, OneStepAloneDoesNotTellHowLongAStepTakes) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).TaskStarts(0, 0).Step(0, 10);
  run.Now(100);
  EXPECT_EQ(run.Story(), "startup 0-10 | at_risk 10-11 | unobserved.allocated 11-100");
}

TEST(Timeline, RanksAreFoldedToTheFirstWhoBeginsAStep) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0);
  for (int task = 0; task < 4; ++task) {
    attempt.TaskStarts(0, 0, task).In(0, task).Steps(0, 3, 10 + 0.5 * task, 10).TaskExits(50, 0, 0, task);
  }
  attempt.Ended(50, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-50");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations.size(), 1U);
  EXPECT_EQ(timeline.steps.executed, 4);
}

TEST(Timeline, ARankThatLagsAStepBehindDoesNotStartTheProgramAgain) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Srun(0, 0, 50, 0).Steps(0, 3, 10, 10);
  attempt.In(0, 1).Steps(0, 3, 23, 10).Ended(50, "COMPLETED");
  EXPECT_EQ(run.Build().incarnations.size(), 1U);
  EXPECT_EQ(run.Build().steps.executed, 4);
}

TEST(Timeline, ALaggardThatNamesAStepNobodyElseDidChangesNothing) {
  RunBuilder run;
  // Task 0 marks every second step; task 1 marks every step, but late.
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Srun(0, 0, 70, 0);
  for (int step = 0; step <= 4; step += 2) attempt.In(0, 0).Step(step, 10 + 10 * step);
  attempt.In(0, 1).Step(0, 11).Step(1, 31).Step(2, 36).Step(3, 51).Ended(70, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations.size(), 1U);
  EXPECT_EQ(RunBuilder::Tell(timeline), "startup 0-10 | productive 10-70");
  EXPECT_EQ(timeline.steps.executed, 6);
}

TEST(Timeline, MarksOfEveryTenthStepCoverTheStepsBetween) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Srun(0, 0, 60, 0);
  for (std::int64_t i = 0; i < 5; ++i) attempt.Step(10 * i, static_cast<double>(10 + 10 * i));
  attempt.Ended(60, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.executed, 50);
  EXPECT_EQ(timeline.steps.median, kSecond);
}

// ---- incarnations and what was kept ----

TEST(Timeline, TheTimeBetweenAStepsEndAndTheNextBeginIsOverhead) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 60, 0).Ended(60, "COMPLETED");
  for (int i = 0; i < 6; ++i) run.Last().Step(i + 1, 10 * i).StepDone(i + 1, 10 * i + 8);
  run.Last().In(0, 1).StepDone(2, 19).In(0, 0).Phase("evaluation", 28, 29.5).Save(4, 38, 40);
  EXPECT_EQ(
      run.Story(),
      "productive 0-8 | overhead.between_steps 8-10 | productive 10-19 | overhead.between_steps 19-20 | "
      "productive 20-28 | overhead.evaluation 28-29.5 | overhead.between_steps 29.5-30 | productive 30-38 | "
      "checkpoint_save 38-40 | productive 40-48 | overhead.between_steps 48-50 | productive 50-58 | "
      "unobserved.allocated 58-60");
}

TEST(Timeline, ALoopThatSaysAtOnceThatTheNextStepBeginsLosesNothingBetween) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 50, 0).Ended(50, "COMPLETED");
  for (int i = 0; i < 5; ++i) run.Last().Step(i + 1, 10 * i).StepDone(i + 1, 10 * i + 9.9995);
  EXPECT_EQ(run.Story(), "productive 0-49.9995 | unobserved.allocated 49.9995-50");
}

TEST(Waiting, WhatSlurmNeedsToLookAtAJobIsNoHold) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(1).Started(5).Ready(5).Srun(0, 5, 10, 0).Ended(10, "COMPLETED");
  EXPECT_EQ(run.Story(), "queue_other.reason not recorded 0-5 | unobserved.allocated 5-10");
  // Nor if its last reason has nothing to do with when it was eligible.
  run.Last().Reason("Resources");
  EXPECT_EQ(run.Story(), "queue_resources.Resources 0-5 | unobserved.allocated 5-10");
  run.Last().Reason("BeginTime");
  EXPECT_EQ(run.Story().substr(0, 19), "hold.BeginTime 0-1 ");
}

TEST(Kept, WhereTheRunResumesIsOpenUntilItDoes) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).SrunKilled(0, 0, 100).Steps(1, 10, 0, 10).Save(4, 40, 41);
  run.Last().Ended(100, "NODE_FAIL");
  run.Attempt().Submitted(100);
  run.Now(110);
  EXPECT_EQ(run.Story(),
            "productive 0-40 | checkpoint_save 40-41 | at_risk 41-100 | requeue_backoff 100-110");
  run.Last().Started(110).Ready(110).TaskStarts(110, 0).Phase("init", 110, 115);
  run.Now(120);
  EXPECT_EQ(run.Story(),
            "productive 0-40 | checkpoint_save 40-41 | at_risk 41-100 | requeue_backoff 100-110 | "
            "startup.init 110-115 | "
            "unobserved.allocated 115-120");
  run.Last().Restore(8, 115, 118);
  EXPECT_EQ(run.Story().substr(0, 75),
            std::string("productive 0-40 | checkpoint_save 40-41 | productive 41-80 | lost_work 80-100 | ")
                .substr(0, 75))
      << "the checkpoint it loads decides before any step ran";
}

TEST(Kept, ResumingAtAnEarlierStepLosesWhatWasDoneBeyondIt) {
  RunBuilder run;
  DiesInStepNine(run);
  ComesBack(run).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  EXPECT_EQ(run.Story(),
            std::string(kFirstTwenty) +
                " | productive 20-80 | lost_work 80-115 | teardown 115-116 | queue_other.reason not recorded "
                "116-120 | provisioning 120-122 | launch 122-130 | startup 130-140 | productive 140-200");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.executed, 16);
  EXPECT_EQ(timeline.steps.kept, 12);
  EXPECT_EQ(timeline.steps.lost, 4);
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket != Bucket::kLostWork) continue;
    EXPECT_EQ(interval.why, "attempt 2 resumed at step 6");
  }
}

TEST(Kept, WhatWasResumedFromDecidesWhateverWasSaved) {
  RunBuilder run;
  // A checkpoint of step 7 was complete, but the run continued from step 3.
  DiesInStepNine(run).Save(7, 100, 100.5);
  ComesBack(run).Steps(3, 11, 140, 10).TaskExits(230, 0, 0).Ended(230, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 12);
  EXPECT_EQ(timeline.steps.lost, 7);
}

TEST(Kept, ARestoredStepBeatsTheFirstNumberLogged) {
  RunBuilder run;
  DiesInStepNine(run);
  // It prints every fourth step; the restored step shows where it really continued.
  ComesBack(run)
      .Restore(5, 131, 135)
      .Step(8, 140)
      .Step(12, 180)
      .Step(16, 220)
      .TaskExits(260, 0, 0)
      .Ended(260, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations[0].kept_step, 5);
  EXPECT_EQ(timeline.steps.lost, 4);
}

TEST(Kept, AStepThatWasRunAgainIsNotKeptTwiceWhateverTheRestoreLabelSays) {
  RunBuilder run;
  DiesInStepNine(run);
  // The label counts finished steps, so it names the next step.
  ComesBack(run).Restore(6, 131, 135).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations[0].kept_step, 5);
  EXPECT_EQ(timeline.steps.kept, 12);
}

TEST(Kept, AllLaterAttemptsHaveASayInWhatWasKept) {
  RunBuilder run;
  DiesInStepNine(run);
  ComesBack(run).Steps(8, 9, 140, 10).TaskKilled(160, 0, 9).Ended(160, "NODE_FAIL");
  run.Attempt()
      .Submitted(160)
      .Eligible(160)
      .Started(170)
      .Srun(0, 170, 260, 0)
      .Steps(2, 9, 180, 10)
      .Ended(260, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.incarnations[0].kept_step, 1);
  EXPECT_FALSE(timeline.incarnations[1].kept_step);
  EXPECT_EQ(timeline.steps.kept, 10);
}

TEST(Kept, AStepNumberGoingBackIsANewStartOfTheProgram) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Steps(0, 5, 10, 10)
      .Phase("init", 72, 74)
      .Steps(3, 6, 80, 10)
      .Srun(0, 0, 120, 0)
      .Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "startup 0-10 | productive 10-40 | lost_work 40-72 | startup.init 72-74 | startup 74-80 | "
            "productive 80-120");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.incarnations.size(), 2U);
  EXPECT_EQ(timeline.incarnations[1].begin, At(72)) << "it began with the first thing a program does";
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_FALSE(timeline.incarnations[0].exit_code) << "the exit was the second one's";
}

TEST(Kept, AWorkerThatWasStartedAnewBeginsWithItsProcess) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .ProcessBegan(1)
      .Steps(0, 5, 10, 10)
      .ProcessBegan(70)
      .Restore(3, 72, 74)
      .Steps(3, 6, 80, 10)
      .Srun(0, 0, 120, 0)
      .Ended(120, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "startup 0-10 | productive 10-40 | lost_work 40-70 | startup 70-72 | startup.restore 72-74 | "
            "startup 74-80 | productive 80-120");
  EXPECT_EQ(run.Build().incarnations.at(1).begin, At(70));
}

TEST(Kept, ANewSrunIsANewStartOfTheProgram) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 65, 1)
      .Steps(0, 5, 10, 10)
      .Srun(1, 70, 120, 0)
      .In(1)
      .Steps(4, 7, 80, 10)
      .Ended(120, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.incarnations.size(), 2U);
  EXPECT_EQ(timeline.steps.kept, 8);
  EXPECT_EQ(timeline.steps.lost, 2);
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "failed");
  EXPECT_EQ(timeline.interruptions[0].time, At(65));
  EXPECT_EQ(timeline.interruptions[0].t_re, 0);
  EXPECT_EQ(timeline.interruptions[0].t_rm, 15 * kSecond);
}

TEST(Kept, AnSrunThatHangsOnGivesWayToTheNextOnesFirstStep) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .SrunKilled(0, 0, 100)
      .Steps(0, 3, 10, 10)
      .Srun(1, 45, 100, 0)
      .In(1)
      .Steps(4, 7, 60, 10)
      .Ended(100, "COMPLETED");
  EXPECT_EQ(run.Story(), "startup 0-10 | productive 10-100") << "step 3 may have taken until then";
  EXPECT_EQ(run.Build().incarnations.at(0).end, At(60));
}

TEST(Kept, TwoSrunsSideBySideAreOneProgram) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Srun(0, 0, 60, 0)
      .Steps(0, 4, 10, 10)
      .Srun(1, 0, 60, 0)
      .In(1)
      .Steps(0, 4, 10.5, 10)
      .Ended(60, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(RunBuilder::Tell(timeline), "startup 0-10 | productive 10-60");
  EXPECT_EQ(timeline.incarnations.size(), 1U);
  EXPECT_EQ(timeline.steps.executed, 5);
  EXPECT_TRUE(timeline.interruptions.empty());
}

TEST(Kept, AFinishedRunKeepsEverythingWithoutAnyCheckpoint) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  EXPECT_EQ(run.Build().steps.kept, 10);
}

TEST(Kept, CheckpointsDecideWhenNoLaterAttemptRanSteps) {
  RunBuilder run;
  DiesInStepNine(run, "NODE_FAIL").Save(4, 69, 69.5);
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 5);
  EXPECT_EQ(timeline.steps.lost, 5);
  EXPECT_EQ(RunBuilder::Tell(timeline),
            std::string(kFirstTwenty) +
                " | productive 20-69 | checkpoint_save 69-69.5 | productive 69.5-70 | "
                "lost_work 70-115 | teardown 115-116");
}

TEST(Kept, ALabelAloneCoversNothing) {
  RunBuilder run;
  // The label is step 9, but the save began shortly after step 5 began.
  DiesInStepNine(run, "NODE_FAIL").Save(9, 70, 71);
  EXPECT_EQ(run.Build().steps.kept, 5);
}

TEST(Kept, ARunningJobsStepsAreAtRiskUntilACheckpointCoversThem) {
  RunBuilder run;
  TrainsTenSteps(run).Save(4, 69, 70);
  run.Now(118);
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 5);
  EXPECT_EQ(timeline.steps.at_risk, 5);
  EXPECT_EQ(timeline.steps.lost, 0);
  EXPECT_TRUE(timeline.running);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kAtRisk), 48);
}

TEST(Kept, AFileThatEachSaveReplacesMayHideSavesBetweenTwoLooks) {
  RunBuilder run;
  AttemptBuilder& attempt = DiesInStepNine(run, "NODE_FAIL");
  const auto save = [&](double from, double to, double earlier) {
    attempt.FileBegins(from, "snapshot.pt", std::nullopt);
    attempt.facts.checkpoint_files.back().earlier = At(earlier) - At(0);
    attempt.FileCompletes(to, "snapshot.pt", std::nullopt);
  };
  save(60, 61, 5);
  EXPECT_TRUE(run.Build().warnings.empty()) << "one look told of one save";
  save(80, 81, 5);
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.warnings.size(), 1U);
  EXPECT_NE(timeline.warnings[0].find("each save overwrites snapshot.pt"), std::string::npos);
  // If the file system reports changes, each save is seen.
  for (CheckpointFile& file : attempt.facts.checkpoint_files) file.earlier = 0;
  EXPECT_TRUE(run.Build().warnings.empty());
}

// Two attempts, of which the first was preempted in step 24 of its output; the second began with that step.
RunFacts PreemptedAndResumed(std::int64_t first_of_next, Evidence evidence) {
  RunBuilder run;
  run.Attempt(7).Submitted(0).Eligible(0).Started(1).Preempted(60).Ended(60, "PREEMPTED");
  run.Last().Ready(2).TaskStarts(3, 0).TaskExits(61, 0, 0).Steps(20, 24, 10, 10);
  run.Attempt(7).Submitted(60).Eligible(180).Started(181).Ended(300, "COMPLETED");
  run.Last().Ready(182).TaskStarts(183, 0).TaskExits(299, 0, 0);
  run.Last().Steps(first_of_next, first_of_next + 5, 190, 10);
  RunFacts facts = run.Facts();
  facts.sources[0].evidence = evidence;
  return facts;
}

TEST(Kept, OutputThatEndsBeforeTheNextAttemptsFirstStepIsWarnedOf) {
  const auto warnings = [](std::int64_t first_of_next, Evidence evidence) {
    return BuildTimeline(PreemptedAndResumed(first_of_next, evidence)).warnings;
  };
  const std::vector<std::string> said = warnings(27, Evidence::kLog);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].find("job 7: its output ends with step 24, and the next attempt began with step 27: "),
            0U)
      << said[0];
  EXPECT_TRUE(warnings(25, Evidence::kLog).empty()) << "nothing is missing";
  EXPECT_TRUE(warnings(20, Evidence::kLog).empty()) << "steps are repeated";
  EXPECT_TRUE(warnings(27, Evidence::kMark).empty()) << "marks do not go through srun";
}

TEST(Kept, WhatNobodyCouldSeeIsOpenNotLost) {
  RunBuilder run;
  DiesInStepNine(run, "NODE_FAIL").facts.checkpoints_unseen = "Permission denied";
  Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.lost, 0);
  EXPECT_GT(timeline.steps.at_risk, 5);
  ASSERT_EQ(timeline.warnings.size(), 1U);
  EXPECT_NE(timeline.warnings[0].find("could not be read (Permission denied)"), std::string::npos);
  // Marks of the program are trusted.
  RunBuilder told;
  DiesInStepNine(told, "NODE_FAIL").Save(8, 110, 110).facts.checkpoints_unseen = "Permission denied";
  timeline = told.Build();
  EXPECT_EQ(timeline.steps.kept, 9);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kLostWork), 5);
}

TEST(Kept, TheStepUnfinishedAtAKillIsLost) {
  RunBuilder run;
  DiesInStepNine(run, "NODE_FAIL").Save(8, 110, 110);
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 9);
  EXPECT_EQ(SecondsIn(timeline, Bucket::kLostWork), 5);
}

TEST(Kept, ExitZeroAfterAStopSignalIsAnInterruption) {
  RunBuilder run;
  // When preempted, it saves and exits with 0.
  TrainsTenSteps(run).Preempted(112).Save(9, 118, 120).TaskExits(121, 0, 0).Ended(122, "PREEMPTED");
  EXPECT_EQ(run.Story(),
            std::string(kFirstTwenty) +
                " | productive 20-118 | checkpoint_save 118-120 | drain 120-121 | teardown 121-122");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "preempted");
  EXPECT_EQ(timeline.interruptions[0].t_ch, 0);
}

TEST(Kept, ToldToStopAndNotSavingLosesTheRest) {
  RunBuilder run;
  TrainsTenSteps(run).Preempted(112).TaskExits(140, 0, 0).Ended(140, "PREEMPTED");
  EXPECT_EQ(run.Story(), std::string(kFirstTwenty) + " | lost_work 20-120 | drain 120-140");
}

TEST(Kept, RanksSavingOneStepMakeOneCheckpointCompleteWithTheLast) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsTenSteps(run);
  attempt.SaveBegins(4, 69).SaveEnds(4, 69.5).In(0, 1).SaveBegins(4, 69.2).SaveEnds(4, 75);
  run.Now(118);
  Timeline timeline = run.Build();
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].complete, At(75));
  attempt.In(0, 2).SaveBegins(4, 69.3);
  timeline = run.Build();
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_FALSE(timeline.checkpoints[0].complete) << "one rank still writes";
  EXPECT_EQ(timeline.steps.kept, 0);
}

TEST(Kept, ASaveTriedAgainCountsWhenItSucceeds) {
  RunBuilder run;
  TrainsTenSteps(run).SaveBegins(4, 65).Save(4, 69, 69.5);
  run.Now(118);
  EXPECT_EQ(run.Build().steps.kept, 5);
}

// ---- waiting ----

TEST(Waiting, PendingReasonsNameTheQueue) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Waits(1, "Priority")
      .Waits(20, "Resources")
      .Waits(50, "QOSMaxJobsPerUser")
      .Started(60)
      .Ended(61, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "queue_priority.Priority 0-20 | queue_resources.Resources 20-50 | queue_other.QOSMaxJobsPerUser "
            "50-60 | "
            "unobserved.allocated 60-61");
}

TEST(Waiting, TheUsersHoldIsExcludedAndTheAdminsIsNot) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Waits(1, "JobHeldUser")
      .Waits(20, "JobHeldAdmin")
      .Waits(50, "Resources")
      .Started(60)
      .Ended(61, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "hold.JobHeldUser 0-20 | queue_other.JobHeldAdmin 20-50 | queue_resources.Resources 50-60 | "
            "unobserved.allocated 60-61");
}

TEST(Waiting, BeginTimeAndDependenciesHoldUntilTheJobIsEligible) {
  for (const std::string& reason : {std::string("BeginTime"), std::string("Dependency")}) {
    RunBuilder run;
    run.Attempt()
        .Submitted(0)
        .Eligible(30)
        .Waits(5, reason)
        .Waits(35, "Resources")
        .Started(60)
        .Ended(61, "COMPLETED");
    EXPECT_EQ(run.Story(),
              "hold." + reason + " 0-30 | queue_resources.Resources 30-60 | unobserved.allocated 60-61");
  }
}

TEST(Waiting, AccountingAloneKnowsWhenAJobBecameEligible) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(30).Reason("Resources").Started(60).Ended(61, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "hold.Resources 0-30 | queue_resources.Resources 30-60 | unobserved.allocated 60-61");
}

TEST(Waiting, ARequeueBacksOffUntilItIsEligible) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(100, "REQUEUED");
  run.Attempt()
      .Submitted(100)
      .Eligible(221)
      .Waits(101, "BeginTime")
      .Waits(225, "Resources")
      .Started(230)
      .Ended(240, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "unobserved.allocated 0-100 | requeue_backoff 100-221 | queue_resources.Resources 221-230 | "
            "unobserved.allocated 230-240");
}

TEST(Waiting, ARequeueHeldByAnAdminIsNoBackOff) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(100, "REQUEUED");
  run.Attempt().Submitted(100).Waits(101, "JobHeldAdmin").State("PENDING");
  run.Now(200);
  EXPECT_EQ(run.Story(), "unobserved.allocated 0-100 | queue_other.JobHeldAdmin 100-200");
}

TEST(Waiting, WithNoJobOfTheRunSubmittedThereIsAGap) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Started(0).Ended(100, "FAILED");
  run.Attempt(2).Submitted(160).Started(170).Ended(180, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "unobserved.allocated 0-100 | resubmit_gap 100-160 | queue_other.reason not recorded 160-170 | "
            "unobserved.allocated 170-180");
}

TEST(Waiting, AnAllocatedAttemptBeatsAPendingOne) {
  RunBuilder run;
  // The next job of a chain waits while this one trains.
  run.Attempt(1).Submitted(0).Started(0).Ended(100, "COMPLETED");
  run.Attempt(2).Submitted(1).Eligible(100).Waits(2, "Dependency").Started(103).Ended(110, "COMPLETED");
  EXPECT_EQ(
      run.Story(),
      "unobserved.allocated 0-100 | queue_other.reason not recorded 100-103 | unobserved.allocated 103-110");
}

TEST(Waiting, ARequeuedLinkOfAChainComesBeforeTheNextLinkThoughItWasSubmittedLater) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Started(0).SrunKilled(0, 0, 45).Steps(0, 3, 5, 10).Ended(45, "REQUEUED");
  run.Attempt(2)
      .Submitted(1)
      .Eligible(100)
      .Started(103)
      .Srun(0, 103, 150, 0)
      .Steps(6, 9, 110, 10)
      .Ended(150, "COMPLETED");
  run.Attempt(1)
      .Submitted(45)
      .Eligible(55)
      .Started(60)
      .Srun(0, 60, 100, 0)
      .Steps(2, 5, 60, 10)
      .Ended(100, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.steps.kept, 10);
  EXPECT_EQ(timeline.steps.lost, 2);
  EXPECT_NE(RunBuilder::Tell(timeline).find("requeue_backoff 45-55"), std::string::npos)
      << RunBuilder::Tell(timeline);
}

TEST(Waiting, ACancelledPendingJobWaitedUntilItsEnd) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Reason("Priority").Ended(50, "CANCELLED");
  EXPECT_EQ(run.Story(), "queue_priority.Priority 0-50");
  const Account account = run.Count();
  EXPECT_EQ(account.goodput.scheduling, 0);
  EXPECT_FALSE(account.goodput.runtime);
}

TEST(Waiting, APendingJobWaitsUntilNow) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Waits(3, "Resources").State("PENDING");
  run.Now(30);
  EXPECT_EQ(run.Story(), "queue_resources.Resources 0-30");
}

// ---- interruptions ----

TEST(Interruptions, ItsCostIsMeasuredAroundTheEnd) {
  RunBuilder run;
  DiesInStepNine(run, "NODE_FAIL").Save(4, 69, 70);
  ComesBack(run).Steps(5, 11, 140, 10).TaskExits(210, 0, 0).Ended(210, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  const Interruption& interruption = timeline.interruptions[0];
  EXPECT_EQ(interruption.cause, "node_fail");
  EXPECT_FALSE(interruption.planned);
  EXPECT_EQ(interruption.time, At(116));
  EXPECT_EQ(interruption.t_ch, 41 * kSecond) << "from the checkpoint at 69 to the end of step 8 at 110";
  EXPECT_EQ(interruption.t_detect, 6 * kSecond);
  EXPECT_EQ(interruption.t_re, 6 * kSecond) << "resources were up again at 122";
  EXPECT_EQ(interruption.t_rm, 18 * kSecond) << "the next step began at 140";
}

TEST(Interruptions, TheSchedulersStateNamesTheCause) {
  const std::pair<const char*, const char*> cases[] = {
      {"PREEMPTED", "preempted"}, {"NODE_FAIL", "node_fail"},   {"TIMEOUT", "timeout"},
      {"DEADLINE", "timeout"},    {"OUT_OF_MEMORY", "oom"},     {"BOOT_FAIL", "stockout"},
      {"CANCELLED", "cancelled"}, {"REQUEUED", "user_requeue"}, {"FAILED", "failed"}};
  for (const auto& [state, cause] : cases) {
    RunBuilder run;
    DiesInStepNine(run, state);
    const Timeline timeline = run.Build();
    ASSERT_EQ(timeline.interruptions.size(), 1U) << state;
    EXPECT_EQ(timeline.interruptions[0].cause, cause) << state;
    EXPECT_EQ(timeline.interruptions[0].planned, std::string(cause) == "timeout") << state;
    EXPECT_FALSE(timeline.interruptions[0].evidence.empty()) << state;
    EXPECT_FALSE(timeline.interruptions[0].t_re) << "there is no next";
  }
}

TEST(Interruptions, ANodeSeenGoingDownExplainsARequeue) {
  RunBuilder run;
  DiesInStepNine(run).facts.down_nodes = "node n1 went down: Not responding";
  EXPECT_EQ(run.Build().interruptions.at(0).cause, "node_fail");
}

TEST(Interruptions, AJobThatTookTheNodesExplainsARequeue) {
  RunBuilder run;
  DiesInStepNine(run).facts.preempted_by = "job 7 of partition high started on its nodes 0 s later";
  EXPECT_EQ(run.Build().interruptions.at(0).cause, "preempted");
}

TEST(Interruptions, ARequeueAfterACompletedSaveOfTheLastStepWasPlanned) {
  RunBuilder run;
  TrainsTenSteps(run).Save(9, 119, 120).TaskExits(121, 0, 0).Ended(121, "REQUEUED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_TRUE(timeline.interruptions[0].planned);
  EXPECT_EQ(timeline.interruptions[0].t_ch, 0);
}

TEST(Interruptions, APreemptionThatFoundEverythingSavedWasPlanned) {
  RunBuilder run;
  TrainsTenSteps(run).Save(9, 119, 120).Preempted(118).TaskExits(121, 0, 0).Ended(121, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "preempted");
  EXPECT_TRUE(timeline.interruptions[0].planned);
}

TEST(Interruptions, ALastAttemptThatRunsOrCompletedIsNone) {
  RunBuilder running;
  TrainsTenSteps(running);
  running.Now(118);
  EXPECT_TRUE(running.Build().interruptions.empty());
  RunBuilder completed;
  TrainsTenSteps(completed).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  EXPECT_TRUE(completed.Build().interruptions.empty());
}

TEST(Interruptions, AnUninstrumentedRunsRequeuesCountToo) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ended(100, "NODE_FAIL");
  run.Attempt().Submitted(100).Eligible(100).Started(110).Ended(200, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_FALSE(timeline.interruptions[0].t_ch);
}

TEST(Interruptions, AttemptsAllocatedAtOnceAreWarnedOf) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Started(0).Ended(100, "COMPLETED");
  run.Attempt(2).Submitted(10).Started(50).Ended(150, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.warnings.size(), 1U);
  EXPECT_NE(timeline.warnings[0].find("at the same time"), std::string::npos) << timeline.warnings[0];
  EXPECT_EQ(RunBuilder::Tell(timeline), "unobserved.allocated 0-150");
}

// ---- the metrics ----

TEST(Metrics, TheFactorsMultiplyToTheWhole) {
  RunBuilder run;
  TrainsTenSteps(run).Gpus(8).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  const Account account = run.Count();
  EXPECT_TRUE(account.has_gpus);
  EXPECT_EQ(account.gpus, 8);
  EXPECT_DOUBLE_EQ(*account.goodput.scheduling, 109.0 / 121);
  EXPECT_DOUBLE_EQ(*account.goodput.runtime, 100.0 / 109);
  EXPECT_DOUBLE_EQ(*account.goodput.sg_rg, 100.0 / 121);
  EXPECT_DOUBLE_EQ(*account.goodput.scheduling_after_start, 109.0 / 111);
  EXPECT_FALSE(account.goodput.runtime_range);
  EXPECT_FALSE(account.goodput.scheduling_range);
  EXPECT_FALSE(account.goodput.program) << "no FLOPs were declared";
  EXPECT_DOUBLE_EQ(*account.definitions.ettr, 100.0 / 121);
  EXPECT_EQ(account.definitions.rg, account.goodput.runtime);
}

TEST(Metrics, TimeWeighsTheGpusItsAttemptHad) {
  RunBuilder run;
  DiesInStepNine(run).Gpus(8);
  ComesBack(run).Gpus(16).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  const Account account = run.Count();
  const double productive = 60 * 8 + 60 * 16;
  const double whole = 116 * 8 + 84 * 16;
  EXPECT_DOUBLE_EQ(*account.goodput.sg_rg, productive / whole);
  EXPECT_DOUBLE_EQ(*account.definitions.ettr, 120.0 / 200) << "in seconds";
}

TEST(Metrics, HoldIsNotWanted) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(50)
      .Waits(0, "JobHeldUser")
      .Waits(50, "Resources")
      .Started(60)
      .Srun(0, 60, 100, 0)
      .Steps(0, 3, 60, 10)
      .Ended(100, "COMPLETED");
  const Account account = run.Count();
  EXPECT_DOUBLE_EQ(*account.goodput.scheduling, 40.0 / 50);
  EXPECT_DOUBLE_EQ(*account.definitions.ettr, 40.0 / 50);
}

TEST(Metrics, OnlyHeldNothingIsDefined) {
  RunBuilder run;
  run.Attempt().Submitted(0).Waits(0, "JobHeldUser").State("PENDING");
  run.Now(100);
  const Account account = run.Count();
  EXPECT_FALSE(account.goodput.scheduling);
  EXPECT_FALSE(account.goodput.sg_rg);
}

TEST(Metrics, ARunningJobsRuntimeGoodputIsARange) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).TaskStarts(0, 0).Steps(0, 9, 0, 10).Save(4, 49, 50);
  run.Now(100);
  const Account account = run.Count();
  EXPECT_DOUBLE_EQ(*account.goodput.runtime, 49.0 / 100);
  ASSERT_TRUE(account.goodput.runtime_range);
  EXPECT_DOUBLE_EQ(account.goodput.runtime_range->first, 49.0 / 100);
  EXPECT_DOUBLE_EQ(account.goodput.runtime_range->second, 99.0 / 100);
}

TEST(Metrics, WhereEvenAllocationIsUnknownSchedulingIsARange) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  Timeline timeline = run.Build();
  // Like an imported log with a gap.
  for (Interval& interval : timeline.intervals.others()) {
    if (interval.bucket == Bucket::kStartup)
      interval = {
          interval.begin, interval.end, Bucket::kUnobserved, "gap", Evidence::kInferred, -1, {}, {}, ""};
  }
  const Account account = TakeAccount(timeline);
  EXPECT_FALSE(account.goodput.scheduling);
  EXPECT_FALSE(account.goodput.runtime);
  ASSERT_TRUE(account.goodput.scheduling_range);
  EXPECT_DOUBLE_EQ(account.goodput.scheduling_range->first, 103.0 / 120);
  EXPECT_DOUBLE_EQ(account.goodput.scheduling_range->second, 108.0 / 120);
  EXPECT_DOUBLE_EQ(*account.goodput.sg_rg, 100.0 / 120);
}

TEST(Metrics, BucketsSumToTheWallTimeAndPartsToTheirBucket) {
  RunBuilder run;
  DiesInStepNine(run).Phase("init", 16, 18);
  ComesBack(run).Phase("init", 131, 133).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  Ns sum = 0;
  for (const BucketTotal& total : run.Count().buckets) {
    sum += total.ns;
    if (total.bucket == Bucket::kStartup) {
      ASSERT_EQ(total.parts.size(), 1U);
      EXPECT_EQ(total.parts[0].ns, 4 * kSecond);
    }
  }
  EXPECT_EQ(sum, 200 * kSecond);
}

TEST(Metrics, NvidiasPublishedExample) {
  EXPECT_NEAR(*NvcreGoodput({14400, 900, 150, 70, 45}), 0.928772, 1e-6);
  EXPECT_FALSE(NvcreGoodput({100, 0, 100, 0, 0}));
  EXPECT_EQ(NvcreGoodput({100, 200, 0, 0, 0}), 0);
}

TEST(Metrics, NvidiasDefinitionFromATimeline) {
  RunBuilder run;
  DiesInStepNine(run).Save(4, 69, 70);
  ComesBack(run).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  // t_w 10-200; lost 80-115; scheduling within it 10-12 and 116-122; repeated launch and startup 122-140;
  // save 1.
  EXPECT_NEAR(*run.Count().definitions.nvcre, (190.0 - 35 - 18 - 8 - 1) / (190 - 8), 1e-12);
}

TEST(Metrics, NvidiasDefinitionTakesWhatOfProvisioningIsAfterTheStart) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(120, "COMPLETED").facts.allocated = At(4);
  // t_w 10-120; nodes booted until 12.
  EXPECT_NEAR(*run.Count().definitions.nvcre, 1, 1e-12);
}

// Steps of 12, 8, 10, 11, 9, 9 and 10 s, and a save of 3 s after the third.
AttemptBuilder& TrainsUnevenly(RunBuilder& run) {
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0);
  const std::array begins{20, 32, 40, 53, 64, 73, 82};
  for (std::size_t i = 0; i < begins.size(); ++i)
    attempt.Step(static_cast<std::int64_t>(i) + 1, begins.at(i));
  return attempt.Save(3, 50, 53);
}

TEST(Metrics, LensCountsEachKeptStepAsTheShortestAfterTheFirstSave) {
  RunBuilder run;
  TrainsUnevenly(run).TaskExits(92, 0, 0).Ended(93, "COMPLETED");
  const Account account = run.Count();
  const Definitions& definitions = account.definitions;
  // The best is 9 s: the one of 8 s was before the save. 7 kept steps; 83 s since the start, of which 2
  // provisioning, 3 launch and 1 teardown; 69 s productive.
  EXPECT_NEAR(*definitions.lens, 63.0 / 83, 1e-12);
  EXPECT_NEAR(*definitions.lens_scheduling, 77.0 / 83, 1e-12);
  EXPECT_NEAR(*definitions.lens_runtime, 69.0 / 77, 1e-12);
  EXPECT_NEAR(*definitions.lens_app, 63.0 / 69, 1e-12);
  EXPECT_NEAR(*definitions.app_p05, 63.0 / 69, 1e-12);
  ASSERT_TRUE(account.lens);
  EXPECT_EQ(account.lens->best, 9 * kSecond);
  EXPECT_EQ(account.lens->at_best(), 63 * kSecond);
  EXPECT_EQ(account.lens->first_step, 3 * kSecond);
  EXPECT_EQ(account.lens->after_checkpoint, 2 * kSecond);
  EXPECT_EQ(account.lens->slower(), kSecond);
  EXPECT_EQ(WhyLensDiffers(account),
            "lens is 1.71 points higher than scheduling x runtime goodput: it leaves out the wait before the "
            "first start (+8.94); counts each kept step as long as the shortest one, 9.000 s (-7.23)");
  EXPECT_EQ(
      PaceInWords(account),
      "91.3% of productive time at the pace of the best step (9.000 s), 1.4% lost to slower steps, 4.3% "
      "to first steps, 2.9% to steps after a save");
}

TEST(Metrics, LensTakesAnyWholeStepIfNoSaveIsComplete) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0);
  attempt.Step(1, 20).Step(2, 32).Step(3, 40).Step(4, 50).TaskExits(51, 0, 0).Ended(51, "COMPLETED");
  const Account account = run.Count();
  ASSERT_TRUE(account.lens);
  EXPECT_EQ(account.lens->best, 8 * kSecond) << "not the last, of 1 s";
}

TEST(Metrics, LensTakesNoStepThatCountsASkippedOne) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0);
  // Step 4 was skipped, between 50 and 58.
  attempt.Step(1, 20).Step(2, 30).Step(3, 40).Phase("skipped_iteration", 50, 58).Step(5, 58).Step(6, 68);
  attempt.TaskExits(78, 0, 0).Ended(78, "COMPLETED");
  const Account account = run.Count();
  ASSERT_TRUE(account.lens);
  EXPECT_EQ(account.lens->best, 10 * kSecond);
}

TEST(Metrics, LensNeedsAWholeStep) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0).Step(1, 20).Step(2, 30);
  run.Last().TaskKilled(31, 0, 15).Ended(32, "FAILED");
  EXPECT_FALSE(run.Count().lens);
  EXPECT_FALSE(run.Count().definitions.lens);
}

TEST(Metrics, LensIsOfWholeRuns) {
  RunBuilder run;
  TrainsUnevenly(run).TaskExits(92, 0, 0).Ended(93, "COMPLETED");
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(0), At(93));
  EXPECT_TRUE(TakeAccount(timeline).definitions.lens);
  ClipTimeline(timeline, At(0), At(80));
  EXPECT_FALSE(TakeAccount(timeline).definitions.lens);
}

TEST(Metrics, LensWeighsStepsByTheirGpus) {
  RunBuilder run;
  run.Attempt().Gpus(4).Submitted(0).Started(0).Ready(0).TaskStarts(0, 0).Steps(1, 4, 0, 10);
  run.Last().TaskKilled(40, 0, 15).Ended(40, "REQUEUED");
  run.Attempt().Gpus(2).Submitted(40).Started(40).Ready(40).TaskStarts(40, 0).Steps(5, 8, 40, 20);
  run.Last().TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  const Account account = run.Count();
  // Eight kept steps of 10 s: four on 4 GPUs, four on 2.
  EXPECT_NEAR(*account.definitions.lens, (4 * 10 * 4 + 4 * 10 * 2.0) / (40 * 4 + 80 * 2), 1e-9);
}

TEST(Metrics, GooglesDefinitions) {
  RunBuilder run;
  DiesInStepNine(run, "NODE_FAIL").Save(2, 49, 50).Save(4, 69, 70);
  ComesBack(run).Steps(5, 11, 140, 10).Save(8, 179, 180).TaskExits(210, 0, 0).Ended(210, "COMPLETED");
  const Account account = run.Count();
  // Complete at 50, 70 and 180: I = 65. t_ch = 110-69, t_re = 122-116, t_rm = 140-122.
  EXPECT_NEAR(*account.definitions.google_interval, (65.0 - 41) / (65 + 6 + 18), 1e-12);
  // 50 s minus two saves, then 70 minus one, divided by the 200 s since the first start. The first steps took
  // 10, and the mean of the others was 9.75 and 9.8, because some include saves.
  EXPECT_NEAR(*account.definitions.google_api, (50.0 - 2 + 70 - 1 - 0.25 - 0.2) / 200, 1e-12);
}

TEST(Metrics, GooglesIntervalNeedsTwoCheckpointsAndAnInterruption) {
  RunBuilder run;
  TrainsTenSteps(run).Save(2, 49, 50).Save(4, 69, 70).TaskExits(120, 0, 0).Ended(120, "COMPLETED");
  EXPECT_FALSE(run.Count().definitions.google_interval);
}

TEST(Metrics, TheLastHourIsJudgedByItself) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(3600)
      .Srun(0, 3600, 7200, 0)
      .Steps(0, 17, 5400, 100)
      .Ended(7200, "COMPLETED");
  const Account account = run.Count();
  EXPECT_DOUBLE_EQ(*account.definitions.ettr, 0.25);
  EXPECT_DOUBLE_EQ(*account.definitions.ettr_1h, 0.5);
}

TEST(Window, OnlyWhatLiesInItCounts) {
  RunBuilder run;
  DiesInStepNine(run).Save(4, 69, 70);
  ComesBack(run).Steps(6, 11, 140, 10).TaskExits(200, 0, 0).Ended(200, "COMPLETED");
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(150), At(180));
  EXPECT_EQ(RunBuilder::Tell(timeline), "productive 150-180");
  EXPECT_TRUE(timeline.interruptions.empty());
  EXPECT_TRUE(timeline.checkpoints.empty());
  const Account account = TakeAccount(timeline);
  EXPECT_EQ(account.goodput.runtime, 1);
  EXPECT_EQ(account.definitions.google_api, 1);
  EXPECT_EQ(account.definitions.nvcre, 1);
  EXPECT_EQ(account.definitions.ettr, 1);
}

TEST(Window, BesideTheRunThereIsNothing) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  for (const double from : {-100.0, 500.0}) {
    Timeline timeline = run.Build();
    ClipTimeline(timeline, At(from), At(from + 10));
    EXPECT_TRUE(timeline.intervals.empty());
    EXPECT_FALSE(TakeAccount(timeline).goodput.scheduling);
  }
}

TEST(Evidence, EveryIntervalSaysHowItIsKnown) {
  RunBuilder run;
  TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  for (const Interval& interval : run.Build().intervals) {
    switch (interval.bucket) {
      case Bucket::kQueueOther:
        EXPECT_EQ(interval.evidence, Evidence::kAccounting);
        break;
      case Bucket::kProductive:
      case Bucket::kStartup:
        EXPECT_EQ(interval.evidence, Evidence::kMark);
        EXPECT_TRUE(interval.from.offset >= 0 || interval.to.offset >= 0);
        break;
      default:
        EXPECT_EQ(interval.evidence, Evidence::kScheduler) << BucketName(interval.bucket);
    }
  }
}

TEST(Buckets, HaveNamesSidesAndMeanings) {
  for (const Bucket bucket : AllBuckets()) {
    EXPECT_EQ(BucketFromName(BucketName(bucket)), bucket);
    EXPECT_FALSE(BucketMeaning(bucket).empty());
    EXPECT_FALSE(SideName(BucketSide(bucket)).empty());
  }
  EXPECT_FALSE(BucketFromName("coffee"));
}

// ---- what is close to another case ----

bool Has(const std::string& story, const std::string& words) {
  return story.find(words) != std::string::npos;
}

TEST(Waiting, AJobThatBecomesEligibleAMinuteAfterTheOneBeforeWasHeld) {
  const auto story = [](double eligible) {
    RunBuilder run;
    TrainsTenSteps(run).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
    run.Attempt(2).Submitted(60).Eligible(eligible).Started(200).Ready(200).Ended(210, "COMPLETED");
    return run.Story();
  };
  EXPECT_TRUE(Has(story(122), "queue_other 121-122")) << story(122);
  EXPECT_TRUE(Has(story(180), "hold 121-180")) << story(180);
}

TEST(Waiting, SlurmLooksAtANewJobWithinTwoSecondsAndHoldsItForLonger) {
  const auto story = [](double eligible) {
    RunBuilder run;
    run.Attempt().Submitted(0).Eligible(eligible).Started(50).Ready(50).Ended(60, "COMPLETED");
    return run.Story();
  };
  EXPECT_FALSE(Has(story(1), "hold")) << story(1);
  EXPECT_TRUE(Has(story(30), "hold 0-30")) << story(30);
}

TEST(Waiting, AnAdministratorsHoldIsWaitingAndAUsersIsNot) {
  const auto story = [](const char* reason) {
    RunBuilder run;
    run.Attempt().Submitted(0).Eligible(30).Started(50).Ready(50).Reason(reason).Ended(60, "COMPLETED");
    return run.Story();
  };
  EXPECT_TRUE(Has(story("JobHeldAdmin"), "queue_other.JobHeldAdmin 0-30")) << story("JobHeldAdmin");
  EXPECT_TRUE(Has(story("JobHeldUser"), "hold.JobHeldUser 0-30")) << story("JobHeldUser");
}

TEST(Waiting, TheFirstReasonThatWasSeenHoldsSinceTheJobWasEligible) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(30).Waits(35, "Resources").Started(50).Ready(50).Ended(60, "COMPLETED");
  EXPECT_EQ(run.Story(), "hold 0-30 | queue_resources.Resources 30-50 | unobserved.allocated 50-60");
}

TEST(NodeLoss, WhatTheProgramDidAfterTheLastHeartbeatProvesThatTheNodeLived) {
  RunBuilder steps;
  TrainsTenSteps(steps).LastSeenAlive(60).Ended(300, "NODE_FAIL");
  EXPECT_TRUE(Has(steps.Story(), "stall 110-300")) << steps.Story();
  ASSERT_EQ(steps.Build().interruptions.size(), 1U);
  EXPECT_EQ(steps.Build().interruptions[0].t_detect, At(300) - At(110));
  RunBuilder file;
  TrainsTenSteps(file).File(9, 112, 114).LastSeenAlive(60).Ended(300, "NODE_FAIL");
  EXPECT_TRUE(Has(file.Story(), "stall 114-300")) << file.Story();
}

TEST(NodeLoss, ASaveEndsWithItsNode) {
  RunBuilder run;
  TrainsTenSteps(run).SaveBegins(9, 112).LastSeenAlive(115).Ended(300, "NODE_FAIL");
  EXPECT_TRUE(Has(run.Story(), "checkpoint_save 112-115 | stall 115-300")) << run.Story();
}

TEST(Incarnations, AnSrunBesideTheTrainingThatFailsIsNoStart) {
  RunBuilder run;
  TrainsTenSteps(run).Srun(1, 30, 40, 1).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  EXPECT_EQ(run.Build().incarnations.size(), 1U);
  RunBuilder before;
  TrainsTenSteps(before).Srun(1, 13, 14, 1).TaskExits(120, 0, 0).Ended(121, "COMPLETED");
  EXPECT_EQ(before.Build().incarnations.size(), 2U) << "it failed before the training began";
}

TEST(Incarnations, ASrunThatBeginsAtTheLastOnesLastStepIsAnotherStart) {
  RunBuilder run;
  TrainsTenSteps(run)
      .TaskStarts(108, 1)
      .In(1)
      .Steps(10, 12, 110, 10)
      .TaskExits(111, 0, 1)
      .TaskExits(140, 1, 0);
  run.Last().Ended(141, "COMPLETED");
  EXPECT_EQ(run.Build().incarnations.size(), 2U);
}

TEST(Incarnations, AProgramLivesWhileOneOfItsTasksMay) {
  RunBuilder run;
  TrainsTenSteps(run).TaskStarts(15, 0, 1, "n2").TaskExits(118, 0, 1, 0).Ended(150, "NODE_FAIL");
  ASSERT_EQ(run.Build().incarnations.size(), 1U);
  EXPECT_EQ(run.Build().incarnations[0].end, At(150));
}

TEST(Steps, TheOnlyStepOfAStartDoesNotShowThatItCompiled) {
  RunBuilder run;
  DiesInStepNine(run);
  ComesBack(run).Step(9, 140).TaskKilled(240, 0, 9).Ended(241, "REQUEUED");
  EXPECT_FALSE(Has(run.Story(), "compile")) << run.Story();
}

TEST(Steps, AFirstStepThatWasLostHasNoExcess) {
  const auto excess = [](std::int64_t resumed_at) {
    RunBuilder run;
    run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0).Step(0, 20).Steps(1, 9, 35, 10);
    run.Last().TaskKilled(130, 0, 9).Ended(131, "REQUEUED");
    run.Attempt().Submitted(131).Eligible(131).Started(140).Ready(142).TaskStarts(145, 0);
    run.Last().Steps(resumed_at, resumed_at + 9, 150, 10).TaskExits(250, 0, 0).Ended(251, "COMPLETED");
    return run.Build().steps.first_step_excess;
  };
  EXPECT_EQ(excess(5), 5 * kSecond);
  EXPECT_EQ(excess(0), 0);
}

TEST(Stop, APreemptionBeforeAStartDidNotTellThatStartToStop) {
  RunBuilder run;
  TrainsTenSteps(run).Preempted(60).TaskExits(120, 0, 1);
  run.Last().TaskStarts(130, 1).In(1).Steps(10, 14, 140, 10).TaskKilled(230, 1, 9).Ended(231, "REQUEUED");
  EXPECT_FALSE(Has(run.Story(), "drain 19") || Has(run.Story(), "drain 20")) << run.Story();
}

TEST(Teardown, TheMomentInWhichSlurmEndsAStepIsLaunch) {
  const auto story = [](double step_ends) {
    RunBuilder run;
    TrainsTenSteps(run)
        .TaskExits(120, 0, 0)
        .StepEnds(step_ends, 0)
        .Srun(1, 130, 135, 0)
        .Ended(136, "COMPLETED");
    return run.Story();
  };
  EXPECT_FALSE(Has(story(120.05), "teardown.step")) << story(120.05);
  EXPECT_TRUE(Has(story(125), "teardown.step 120-125")) << story(125);
}

}  // namespace
}  // namespace goodput
