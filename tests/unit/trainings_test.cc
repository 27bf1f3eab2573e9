// Several trainings in one job, one after another: folds, stages, the trials of a search.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/kept_steps_check.h"

namespace goodput {
namespace {

AttemptBuilder& Begins(RunBuilder& run) {
  return run.Attempt().Submitted(0).Eligible(0).Started(0).Ready(0).TaskStarts(0, kBatchStep);
}

// Ten steps of a second by an srun of its own, which begins a second before them.
void Trains(AttemptBuilder& attempt, std::int32_t slurm_step, double from, std::int64_t first,
            int exit_code) {
  attempt.Srun(slurm_step, from, from + 11, exit_code).In(slurm_step).Steps(first, first + 9, from + 1, 1);
}

// A second srun does, and the job completes.
void TrainsToTheEnd(AttemptBuilder& attempt, std::int64_t first) {
  Trains(attempt, 1, 13, first, 0);
  attempt.Ended(25, "COMPLETED");
}

// What became of the steps: "kept lost at-risk, N trainings, N interruptions".
std::string Outcome(RunBuilder& run) {
  const Timeline timeline = run.Build();
  const StepCounts& steps = timeline.steps;
  return std::to_string(steps.kept) + " " + std::to_string(steps.lost) + " " + std::to_string(steps.at_risk) +
         ", " + std::to_string(steps.trainings) + " trainings, " +
         std::to_string(timeline.interruptions.size()) + " interruptions";
}

TEST(Trainings, ProgramsThatSucceededAreKeptThoughTheNextBeginsWithTheFirstStep) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  for (const std::int32_t fold : {0, 1, 2}) Trains(attempt, fold, 1 + 12 * fold, 1, 0);
  attempt.Ended(38, "COMPLETED");
  EXPECT_EQ(Outcome(run), "30 0 0, 3 trainings, 0 interruptions");
  const Ledger ledger = ReadLedger(run.Build());
  EXPECT_TRUE(ledger.holds());
  EXPECT_EQ(InWords(ledger), "30 kept = steps 1 to 10, 1 to 10, 1 to 10 of 3 trainings, each once");
}

TEST(Trainings, TheyAreKeptWhileTheNextRunsAndThoughItFails) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  Trains(attempt, 0, 1, 0, 0);  // another counts from 0
  Trains(attempt, 1, 13, 0, 1);
  run.Now(25);
  EXPECT_EQ(Outcome(run), "10 0 10, 2 trainings, 0 interruptions");
  attempt.Ended(26, "FAILED");
  EXPECT_EQ(Outcome(run), "10 10 0, 2 trainings, 1 interruptions");
}

TEST(Trainings, AFailedProgramIsTrainedAgain) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  Trains(attempt, 0, 1, 1, 1);
  TrainsToTheEnd(attempt, 1);
  EXPECT_EQ(Outcome(run), "10 10 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, AProgramThatLeftBecauseOfASignalIsTrainedAgain) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  Trains(attempt, 0, 1, 1, 0);
  attempt.In(0).Signal(11.5, SIGTERM, true, 0, "scancel");
  TrainsToTheEnd(attempt, 1);
  EXPECT_EQ(Outcome(run), "10 10 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, AfterStepZeroTheFirstStepIsTheNext) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run).TaskStarts(0, 0).In(0).Step(0, 1).TaskExits(2, 0, 0);
  TrainsToTheEnd(attempt, 1);
  EXPECT_EQ(Outcome(run), "11 0 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, OneThatGoesOnIsTheSame) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  Trains(attempt, 0, 1, 1, 0);
  TrainsToTheEnd(attempt, 9);
  EXPECT_EQ(Outcome(run), "18 2 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, AnotherAllocationDoesTheSameTrainingAgain) {
  RunBuilder run;
  Trains(Begins(run), 0, 1, 1, 0);
  run.Last().Ended(13, "COMPLETED");
  run.Attempt().Submitted(14).Eligible(14).Started(14).Ready(14);
  Trains(run.Last(), 0, 15, 1, 0);
  run.Last().Ended(27, "COMPLETED");
  EXPECT_EQ(Outcome(run), "10 10 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, ARequeueWithinALaterOneLosesNothingOfTheEarlier) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run);
  Trains(attempt, 0, 1, 1, 0);
  attempt.TaskStarts(13, 1)
      .In(1)
      .Steps(1, 10, 14, 1)
      .TaskKilled(24, 1, 9)
      .Preempted(22)
      .Ended(24, "PREEMPTED");
  run.Attempt().Submitted(25).Eligible(25).Started(25).Ready(25);
  Trains(run.Last(), 0, 26, 6, 0);
  run.Last().Ended(38, "COMPLETED");
  EXPECT_EQ(Outcome(run), "25 5 0, 2 trainings, 1 interruptions");
  EXPECT_TRUE(ReadLedger(run.Build()).holds());
}

// Three loops in one process, of which nothing tells how the first two ended.
AttemptBuilder& LoopsThreeTimes(RunBuilder& run, std::int64_t last_of_third) {
  AttemptBuilder& attempt = Begins(run).TaskStarts(0, 0).In(0);
  return attempt.Steps(1, 10, 1, 1).Steps(1, 10, 11, 1).Steps(1, last_of_third, 21, 1);
}

TEST(Trainings, LoopsInOneProcessAreKeptIfTheJobCompleted) {
  RunBuilder run;
  LoopsThreeTimes(run, 10).TaskExits(31, 0, 0).Ended(32, "COMPLETED");
  EXPECT_EQ(Outcome(run), "30 0 0, 3 trainings, 0 interruptions");
}

TEST(Trainings, LoopsInOneProcessAreAtRiskUntilThen) {
  RunBuilder run;
  LoopsThreeTimes(run, 5);
  run.Now(26);
  EXPECT_EQ(Outcome(run), "0 0 25, 3 trainings, 0 interruptions");
  run.Last().TaskExits(26, 0, 1).Ended(26, "FAILED");
  EXPECT_EQ(Outcome(run), "0 5 20, 3 trainings, 1 interruptions");
  for (const Interval& interval : run.Build().intervals) {
    if (interval.bucket != Bucket::kAtRisk) continue;
    EXPECT_NE(interval.why.find("not known whether this one had finished"), std::string::npos)
        << interval.why;
  }
}

TEST(Trainings, AStartThatGoesBeyondTheLastOneMayDoTheSameAgain) {
  RunBuilder run;
  LoopsThreeTimes(run, 11).TaskExits(32, 0, 0).Ended(33, "COMPLETED");
  EXPECT_EQ(Outcome(run), "21 0 10, 3 trainings, 0 interruptions");
}

TEST(Trainings, AWorkerThatALauncherReplacedIsTrainedAgain) {
  RunBuilder run;
  AttemptBuilder& attempt = Begins(run).TaskStarts(0, 0).In(0);
  attempt.Steps(1, 10, 1, 1).ProcessBegan(11).Steps(1, 5, 12, 1);
  run.Now(17);
  EXPECT_EQ(Outcome(run), "0 10 5, 1 trainings, 1 interruptions");
  attempt.Steps(6, 11, 17, 1).TaskExits(23, 0, 0).Ended(24, "COMPLETED");
  EXPECT_EQ(Outcome(run), "11 10 0, 1 trainings, 1 interruptions");
}

TEST(Trainings, StartsInAnImportedLogAreLikeThoseInOneAllocation) {
  RunBuilder run;
  for (const double begin : {0.0, 20.0}) {
    AttemptBuilder& start = run.Attempt().Submitted(begin).Started(begin).Ended(begin + 11, "COMPLETED");
    start.facts.heard_until = At(begin + 11);
    start.Steps(1, 10, begin, 1);
  }
  EXPECT_EQ(Outcome(run), "20 0 0, 2 trainings, 0 interruptions");
}

}  // namespace
}  // namespace goodput
