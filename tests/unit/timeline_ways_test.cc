// The ways in which a job can end that tests/e2e/ways/ found on real Slurm, as minimal examples.
#include <gtest/gtest.h>

#include <string>

#include "sql/text.h"
#include "tests/unit/run_builder.h"

namespace goodput {
namespace {

// Ten steps of a second from 10 on.
AttemptBuilder& TrainsFrom10(RunBuilder& run) {
  return run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(1, kBatchStep)
      .TaskStarts(2, 0)
      .Steps(1, 10, 10, 1);
}

std::string CauseOf(RunBuilder& run) {
  const Timeline timeline = run.Build();
  return timeline.interruptions.size() == 1 ? timeline.interruptions[0].cause
                                            : std::to_string(timeline.interruptions.size());
}

TEST(Suspension, AStepThatWasSuspendedHasNotStalled) {
  RunBuilder run;
  TrainsFrom10(run)
      .Step(11, 40)
      .Suspended(19.5, 39.5)
      .TaskExits(41, 0, 0)
      .TaskExits(41, kBatchStep, 0)
      .Ended(41, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "launch 0-1 | launch.script 1-2 | startup 2-10 | productive 10-19.5 | suspended 19.5-39.5 | "
            "productive 39.5-41");
}

TEST(Suspension, WhereOnlyItsLengthIsKnownThatIsSaid) {
  RunBuilder run;
  TrainsFrom10(run).TaskExits(30, 0, 0).TaskExits(30, kBatchStep, 0).Ended(30, "COMPLETED").facts.suspended =
      {{At(25), At(30), false}};
  EXPECT_EQ(run.Build().intervals.back().evidence, Evidence::kInferred);
}

TEST(Requeue, OfAJobThatWasOverNothingWasSubmittedBefore) {
  for (const auto& [over, waits] : {std::pair(true, "resubmit_gap 9-23 | requeue_backoff 23-36"),
                                    std::pair(false, "requeue_backoff 9-36")}) {
    RunBuilder run;
    run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(9, "REQUEUED").facts.requeued_when_over = over;
    run.Attempt().Submitted(23).Eligible(36).Started(36).Ended(40, "COMPLETED");
    EXPECT_EQ(run.Story(), Cat("unobserved.allocated 0-9 | ", waits, " | unobserved.allocated 36-40"));
  }
}

TEST(Federation, AJobThatAnotherClusterStartedWantsNothingHere) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Waits(1, "Resources").Ended(60, "REVOKED").Gpus(8);
  EXPECT_EQ(run.Story(), "hold.federation 0-60");
  EXPECT_TRUE(run.Build().interruptions.empty());
  EXPECT_FALSE(run.Count().goodput.scheduling);
}

TEST(Federation, UntilItsRequeueAJobRanElsewhereAndDidNotBackOff) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Ended(9, "REVOKED").Gpus(8);
  run.Attempt().Submitted(23).Eligible(36).Started(36).Ended(40, "COMPLETED").Gpus(8);
  EXPECT_EQ(run.Story().substr(0, 46), "hold.federation 0-23 | requeue_backoff 23-36 |");
}

TEST(Cloud, WhileItsNodesBootAJobHasThem) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Waits(1, "Resources")
      .Started(60)
      .Ready(61)
      .Srun(0, 62, 70, 0)
      .Ended(70, "COMPLETED")
      .facts.allocated = At(20);
  EXPECT_EQ(
      run.Story(),
      "queue_resources.Resources 0-20 | provisioning 20-61 | launch 61-62 | unobserved.allocated 62-70");
}

TEST(Resize, TimeWeighsTheGpusHeldThen) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(10).Ended(30, "COMPLETED").Gpus(8);
  attempt.facts.resizes = {{At(15), 32}, {At(20), 16}};
  const Account account = run.Count();
  EXPECT_EQ(account.gpus, 8);
  GpuNs sum = 0;
  for (const BucketTotal& total : account.buckets) sum += total.gpu_ns;
  EXPECT_EQ(sum / kSecond, 15 * 32 + 5 * 16 + 10 * 8) << "the wait weighs what was asked for";
}

TEST(Helpers, AnSrunBesideTheTrainingInterruptsNothing) {
  RunBuilder run;
  TrainsFrom10(run)
      .TaskStarts(2, 1)
      .TaskKilled(20, 1, 9)
      .TaskExits(20, 0, 0)
      .TaskExits(21, kBatchStep, 0)
      .Ended(21, "COMPLETED");
  EXPECT_EQ(run.Build().interruptions.size(), 0U);
}

TEST(Helpers, AnSrunThatFailedBeforeTheTrainingBeganDoes) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .Srun(0, 1, 5, 1)
      .TaskStarts(6, 1)
      .In(1)
      .Steps(1, 10, 10, 1)
      .TaskExits(20, 1, 0)
      .Ended(20, "COMPLETED");
  EXPECT_EQ(CauseOf(run), "failed");
}

TEST(Requeue, AProgramThatFailedWhileItsScriptStillRanWasNotRequeuedByAnyone) {
  RunBuilder run;
  TrainsFrom10(run).TaskExits(20.4, 0, 3).TaskKilled(20.5, kBatchStep, 15).Ended(20, "REQUEUED");
  run.Attempt().Submitted(21).State("PENDING");
  EXPECT_EQ(CauseOf(run), "failed");
}

TEST(Requeue, AProgramThatLeftBecauseOfTheRequeueDidNotFail) {
  RunBuilder run;
  TrainsFrom10(run).TaskKilled(20.5, kBatchStep, 15).TaskExits(21.4, 0, 3).Ended(20, "REQUEUED");
  run.Attempt().Submitted(22).State("PENDING");
  EXPECT_EQ(CauseOf(run), "user_requeue");
}

TEST(Requeue, LeavingWithAStatusAfterACompletedSaveIsAskingForIt) {
  RunBuilder run;
  TrainsFrom10(run)
      .Save(10, 20, 20.3)
      .TaskExits(20.4, 0, 85)
      .TaskKilled(20.5, kBatchStep, 15)
      .Ended(20, "REQUEUED");
  run.Attempt().Submitted(21).State("PENDING");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "user_requeue");
  EXPECT_TRUE(timeline.interruptions[0].planned);
}

TEST(Cause, AStepThatRanOutOfMemoryMakesTheScriptFail) {
  RunBuilder run;
  TrainsFrom10(run)
      .TaskKilled(20, 0, 9)
      .TaskExits(20, kBatchStep, 1)
      .Ended(20, "FAILED")
      .facts.step_out_of_memory = true;
  EXPECT_EQ(CauseOf(run), "oom");
}

TEST(Cause, AProgramThatFailedOtherwiseDidNotRunOutOfMemory) {
  RunBuilder run;
  TrainsFrom10(run)
      .TaskKilled(20, 0, 11)
      .TaskExits(20, kBatchStep, 1)
      .Ended(20, "FAILED")
      .facts.step_out_of_memory = true;
  EXPECT_EQ(CauseOf(run), "failed");
}

TEST(Cause, WhoCancelledIsEvidence) {
  RunBuilder run;
  TrainsFrom10(run).TaskKilled(20, 0, 15).Ended(20, "CANCELLED").facts.cancelled_by = "root";
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].evidence.at(1), "cancelled by root");
}

TEST(Holding, ARequeueInHeldStateIsHoldUntilItsRelease) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(100, "REQUEUED");
  run.Attempt()
      .Submitted(103)
      .Eligible(150)
      .Waits(104, "JobHeldUser")
      .Waits(152, "None")
      .Started(150)
      .Ended(160, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "unobserved.allocated 0-100 | hold.JobHeldUser 100-150 | unobserved.allocated 150-160");
}

TEST(Holding, AJobReleasedBeforeItsBackOffIsOverWaitsForThat) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(100, "REQUEUED");
  run.Attempt()
      .Submitted(103)
      .Eligible(225)
      .Waits(104, "JobHeldUser")
      .Waits(130, "None")  // until slurmctld looks at the job again
      .Waits(150, "BeginTime")
      .Started(225)
      .Ended(230, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "unobserved.allocated 0-100 | hold.JobHeldUser 100-130 | requeue_backoff 130-225 | "
            "unobserved.allocated 225-230");
}

TEST(Holding, AccountingAloneAlsoKnowsThatARequeueWasHeld) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Started(0).Ended(100, "REQUEUED");
  run.Attempt().Submitted(103).Eligible(150).Reason("JobHeldUser").Started(155).Ended(160, "COMPLETED");
  EXPECT_EQ(
      run.Story(),
      "unobserved.allocated 0-100 | hold.JobHeldUser 100-150 | queue_other.reason not recorded 150-155 | "
      "unobserved.allocated 155-160");
}

TEST(Holding, WhatAJobWaitedForBeforeItWasHeldStays) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(50)  // time of the release; it was 0 before
      .Waits(1, "Resources")
      .Waits(30, "JobHeldUser")
      .Started(51)
      .Ended(60, "COMPLETED");
  EXPECT_EQ(
      run.Story(),
      "queue_resources.Resources 0-30 | hold.JobHeldUser 30-50 | queue_other.reason not recorded 50-51 | "
      "unobserved.allocated 51-60");
}

TEST(Chains, WaitingForAJobOfTheSameRunIsNoHold) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Eligible(0).Waits(1, "Resources").Started(10).Ended(20, "COMPLETED");
  AttemptBuilder& second = run.Attempt(2);
  second.Submitted(1).Eligible(25).Waits(2, "Dependency").Started(26).Ended(30, "COMPLETED");
  EXPECT_EQ(run.Story(),
            "queue_resources.Resources 0-10 | unobserved.allocated 10-20 | hold.Dependency 20-25 | "
            "queue_other.reason not recorded 25-26 | unobserved.allocated 26-30");
  second.facts.pending[0].within_run = true;
  EXPECT_EQ(run.Story(),
            "queue_resources.Resources 0-10 | unobserved.allocated 10-20 | queue_other.Dependency 20-25 | "
            "queue_other.reason not recorded 25-26 | unobserved.allocated 26-30");
}

TEST(Chains, ATaskOfAnArrayWaitedForTheTaskBeforeHoweverLateItBecameEligible) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Eligible(0).Started(0).Ended(20, "COMPLETED");
  AttemptBuilder& second = run.Attempt(2);
  second.Submitted(0).Eligible(30).Started(30).Ended(40, "COMPLETED");
  EXPECT_EQ(run.Story(), "unobserved.allocated 0-20 | hold 20-30 | unobserved.allocated 30-40");
  second.facts.array_of_run = true;
  EXPECT_EQ(run.Story(), "unobserved.allocated 0-20 | queue_other 20-30 | unobserved.allocated 30-40");
  second.facts.reason = "JobHeldUser";
  EXPECT_EQ(run.Story(), "unobserved.allocated 0-20 | hold.JobHeldUser 20-30 | unobserved.allocated 30-40");
}

TEST(Chains, AJobThatBecameEligibleAsTheOneBeforeItEndedWaitedForThat) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Eligible(0).Started(0).Ended(20, "COMPLETED");
  run.Attempt(2).Submitted(1).Eligible(21).Started(21).Ended(30, "COMPLETED");
  EXPECT_EQ(run.Story(), "unobserved.allocated 0-20 | queue_other 20-21 | unobserved.allocated 21-30");
}

}  // namespace
}  // namespace goodput
