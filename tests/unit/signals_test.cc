// The signal ledger: which signals reached a job, and their outcome.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/signal_ledger.h"

namespace goodput {
namespace {

using DeliveryOutcome = SignalDelivery::Outcome;

// Steps of ten seconds from 20 on, and saves of 30 s after steps 4 and 9.
AttemptBuilder& TrainsAndSaves(RunBuilder& run, std::int64_t first = 0, double at = 0) {
  AttemptBuilder& attempt = run.Attempt();
  attempt.Submitted(at).Started(at + 5).Ready(at + 10).TaskStarts(at + 12, 0);
  attempt.Steps(first, first + 4, at + 20, 10).Save(first + 4, at + 70, at + 100);
  attempt.Steps(first + 5, first + 9, at + 100, 10).Save(first + 9, at + 150, at + 180);
  return attempt.Step(first + 10, at + 180);
}

std::string WhatItSays(const SignalLedger& ledger) {
  std::string text = ledger.summary;
  for (const std::string& warning : ledger.warnings) text += "\n" + warning;
  return text;
}

const SignalDelivery& Only(const SignalLedger& ledger) {
  EXPECT_EQ(ledger.deliveries.size(), 1U);
  return ledger.deliveries.front();
}

TEST(SignalLedger, OfAJobWithoutSignalsIsEmpty) {
  RunBuilder run;
  TrainsAndSaves(run).TaskExits(200, 0, 0).Ended(201, "COMPLETED");
  EXPECT_TRUE(run.Build().signals.empty());
  EXPECT_EQ(run.Build().signals.summary, "");
}

TEST(SignalLedger, FollowsASignalToItsCheckpointAndTheExit) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .TaskExits(222, 0, 0)
      .Ended(223, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  const SignalDelivery& delivery = Only(ledger);
  EXPECT_EQ(delivery.outcome, DeliveryOutcome::kInTime);
  EXPECT_EQ(delivery.checkpoint_begin, At(190));
  EXPECT_EQ(delivery.checkpoint_complete, At(220));
  EXPECT_EQ(delivery.exit, At(222));
  EXPECT_EQ(delivery.grace, std::nullopt) << "nobody made it end";
  EXPECT_EQ(WhatItSays(ledger), "1 signal, 1 checkpoint in time");
}

// USR1 at 183, the step ends at 190, a save takes 30 s, and the job is killed at 183 + `grace`.
AttemptBuilder& HasUntil(RunBuilder& run, double grace, const std::string& state) {
  const double end = 183 + grace;
  return TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .SaveBegins(10, 190)
      .Signal(end, SIGKILL, std::nullopt)
      .TaskKilled(end + 0.1, 0, SIGKILL)
      .Ended(end + 1, state);
}

TEST(SignalLedger, SaysByHowMuchASaveWasCutShortAndHowLongTheGraceShouldBe) {
  RunBuilder run;
  HasUntil(run, 33, "TIMEOUT");
  const SignalLedger ledger = run.Build().signals;
  ASSERT_EQ(ledger.deliveries.size(), 2U);
  EXPECT_EQ(ledger.deliveries[0].outcome, DeliveryOutcome::kCutShort);
  EXPECT_EQ(ledger.deliveries[0].grace, 33 * kSecond);
  EXPECT_EQ(ledger.deliveries[1].outcome, DeliveryOutcome::kNotAsked) << "KILL asks for nothing";
  // 7 s until the save began and 30 s for it: 37 s, plus a quarter.
  EXPECT_EQ(WhatItSays(ledger),
            "1 signal, 0 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @60");
}

TEST(SignalLedger, AdvisesByWhoeverEndedTheJob) {
  const auto advice = [](const std::string& state) {
    RunBuilder run;
    HasUntil(run, 33, state);
    const std::string summary = run.Build().signals.summary;
    return summary.substr(summary.find(": "));
  };
  EXPECT_EQ(advice("PREEMPTED"), ": a preemption grace (GraceTime) of 60 s would be enough");
  EXPECT_EQ(advice("REQUEUED"), ": save more often, or have KillWait raised to 60");
  RunBuilder run;
  HasUntil(run, 33, "TIMEOUT").facts.signals.front().signo = SIGTERM;
  EXPECT_NE(run.Build().signals.summary.find(": send it earlier with --signal=TERM@60"), std::string::npos);
}

TEST(SignalLedger, KnowsNoNeededTimeOfASaveThatNeverCompletedBefore) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 10, 20, 10).Signal(123, SIGUSR1, true).SaveBegins(10, 130);
  attempt.Signal(150, SIGKILL, std::nullopt).TaskKilled(150, 0, SIGKILL).Ended(151, "TIMEOUT");
  EXPECT_EQ(WhatItSays(run.Build().signals), "1 signal, 0 checkpoints in time, 1 killed while it saved");
}

TEST(SignalLedger, CountsAllAsksOfARun) {
  RunBuilder run;
  for (int i = 0; i < 5; ++i) {
    const double at = 300.0 * i;
    TrainsAndSaves(run, 10L * i, at)
        .Signal(at + 183, SIGUSR1, true)
        .Save(10 * i + 10, at + 190, at + 220)
        .TaskExits(at + 222, 0, 0)
        .Ended(at + 223, "REQUEUED");
  }
  HasUntil(run, 33, "TIMEOUT");
  AttemptFacts& last = run.Last().facts;
  const auto later = [](Ns& t) { t += 1500 * kSecond; };
  later(last.submit), later(*last.start), later(*last.end);
  for (NodeEvent& event : last.node_events) later(event.t);
  for (StepMark& mark : last.step_marks) later(mark.t), mark.train_step += 50;
  for (Mark& mark : last.marks) later(mark.t), *mark.train_step += 50;
  for (SignalFact& signal : last.signals) later(signal.t), later(signal.last_t);
  EXPECT_EQ(run.Build().signals.summary,
            "6 signals, 5 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @60");
}

TEST(SignalLedger, TakesAllProcessesOfAMomentForOneDelivery) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run).TaskStarts(12, 0, 1);
  attempt.Signal(183, SIGUSR1, true, 0).Signal(183.004, SIGUSR1, true, 1);
  attempt.HelperSignal(183.002, SIGUSR1, "pt_data_worker", false, 0)
      .HelperSignal(183.003, SIGUSR1, "pt_data_worker", false, 0)
      .HelperSignal(183.005, SIGUSR1, "sleep", std::nullopt, 1);
  attempt.Signal(190, SIGUSR1, true, 0);
  attempt.TaskExits(222, 0, 0).TaskExits(223, 0, 0, 1).Ended(223, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  ASSERT_EQ(ledger.deliveries.size(), 2U);
  const SignalDelivery& delivery = ledger.deliveries.front();
  EXPECT_EQ(delivery.processes, 5);
  EXPECT_EQ(delivery.tasks, 2);
  EXPECT_EQ(delivery.tasks_handled, 2);
  ASSERT_EQ(delivery.receivers.size(), 2U);
  EXPECT_EQ(delivery.receivers[0].helpers_unprepared, 2);
  EXPECT_EQ(delivery.receivers[1].exit, At(223));
  ASSERT_FALSE(ledger.warnings.empty());
  EXPECT_EQ(
      ledger.warnings.front(),
      "3 processes other than the trainer died from USR1 (pt_data_worker 2, sleep 1): send the signal to the "
      "script only, with --signal=B:USR1 and forward it to the trainer, or ignore it in those processes");
}

TEST(SignalLedger, ASignalThatRepeatsAnAskIsNotAnotherOne) {
  RunBuilder run;
  // USR1, then TERM at the time limit during the save, and TERM again after it.
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .Signal(200, SIGTERM, true)
      .Signal(221, SIGTERM, true)
      .TaskExits(222, 0, 0)
      .Ended(223, "TIMEOUT");
  const SignalLedger ledger = run.Build().signals;
  ASSERT_EQ(ledger.deliveries.size(), 3U);
  EXPECT_TRUE(ledger.deliveries[1].repeats);
  EXPECT_TRUE(ledger.deliveries[2].repeats);
  EXPECT_EQ(ledger.summary, "1 signal, 1 checkpoint in time");
}

TEST(SignalLedger, TrainingOnMakesTheNextSignalAnAskOfItsOwn) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .Steps(11, 14, 220, 10)
      .Signal(263, SIGUSR1, true)
      .Save(14, 265, 295)
      .Steps(15, 30, 295, 10)
      .TaskExits(455, 0, 0)
      .Ended(456, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(ledger.summary, "2 signals, 2 checkpoints in time");
  EXPECT_EQ(ledger.deliveries[1].exit, std::nullopt) << "it trained on: that exit is no answer";
}

TEST(SignalLedger, ARoutineSaveIsNoAnswer) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 9, 20, 10).Signal(63, SIGUSR1, true).Save(9, 120, 150);
  attempt.Steps(10, 20, 150, 10).TaskExits(260, 0, 0).Ended(261, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(Only(ledger).outcome, DeliveryOutcome::kNothing);
  EXPECT_EQ(WhatItSays(ledger),
            "1 signal, 0 checkpoints in time, 1 without a checkpoint\n"
            "USR1 was handled, but no checkpoint followed within 2 steps: let the handler save at the end of "
            "the step");
}

TEST(SignalLedger, NamesAJobWithoutAHandler) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGUSR1, false).TaskKilled(183.1, 0, SIGUSR1).Ended(184, "FAILED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(Only(ledger).tasks_died, 1);
  EXPECT_EQ(
      WhatItSays(ledger),
      "1 signal, 0 checkpoints in time, 1 without a checkpoint\n"
      "no task has a handler for USR1, a checkpoint signal of this job: install one that saves, or name "
      "another with --goodput-checkpoint-signal");
}

TEST(SignalLedger, ATaskThatIsBeingSetUpCannotHandleIt) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGUSR1, false).TaskKilled(183.1, 0, SIGUSR1).Ended(184, "FAILED");
  run.Last().facts.signals.back().comm = "slurmstepd-wlm";
  const SignalLedger ledger = run.Build().signals;
  EXPECT_TRUE(Only(ledger).receivers.front().set_up);
  EXPECT_EQ(WhatItSays(ledger),
            "1 signal, 0 checkpoints in time, 1 without a checkpoint\n"
            "USR1 arrived while the tasks were still being set up, such as their containers: no program was "
            "running yet to handle it");
}

TEST(SignalLedger, ATaskThatDiesOfASignalDidNotHandleIt) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGUSR1, std::nullopt).TaskKilled(183.1, 0, SIGUSR1).Ended(184, "FAILED");
  EXPECT_EQ(Only(run.Build().signals).receivers.front().handled, false);
  RunBuilder other;
  TrainsAndSaves(other).Signal(183, SIGUSR1, std::nullopt).TaskKilled(183.1, 0, SIGKILL).Ended(184, "FAILED");
  const SignalLedger ledger = other.Build().signals;
  EXPECT_EQ(Only(ledger).receivers.front().handled, std::nullopt);
  EXPECT_EQ(ledger.warnings, std::vector<std::string>{}) << "not known is no reason to warn";
}

TEST(SignalLedger, SaysWhatIsIgnored) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGUSR1, std::nullopt).TaskExits(200, 0, 0).Ended(201, "COMPLETED");
  run.Last().facts.signals.back().ignored = true;
  ASSERT_EQ(run.Build().signals.warnings.size(), 1U);
  EXPECT_EQ(run.Build().signals.warnings[0].find("all tasks ignore USR1"), 0U);
}

TEST(SignalLedger, AsksOnlyWithTheSignalsTheJobNames) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Signal(190, SIGINT, true)
      .TaskExits(200, 0, 0)
      .Ended(201, "FAILED");
  run.Last().facts.checkpoint_signals = {SIGINT};
  const SignalLedger ledger = run.Build().signals;
  EXPECT_FALSE(ledger.deliveries[0].asks());
  EXPECT_TRUE(ledger.deliveries[1].asks());
}

TEST(SignalLedger, ASleepingJobThatIsCancelledHasNothingToSave) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(5)
      .TaskStarts(12, 0)
      .Signal(50, SIGTERM, false)
      .TaskKilled(50, 0, SIGTERM)
      .Ended(51, "CANCELLED");
  EXPECT_EQ(run.Build().signals.warnings, std::vector<std::string>{});
}

TEST(SignalLedger, WhatAJobSendsItsOwnHelpersIsInNoLedger) {
  RunBuilder run;
  TrainsAndSaves(run)
      .HelperSignal(100, SIGTERM, "pt_data_worker", false, 0, "job")
      .TaskExits(200, 0, 0)
      .Ended(201, "COMPLETED");
  EXPECT_TRUE(run.Build().signals.empty());
}

TEST(SignalLedger, TheScriptAndTheExternStepAreNotTheProgram) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run).TaskStarts(11, kBatchStep);
  attempt.Signal(183, SIGUSR1, true).In(kBatchStep).Signal(183.001, SIGUSR1, false);
  attempt.In(kExternStep).Signal(183.002, SIGUSR1, false).In(0).Save(10, 190, 220);
  attempt.TaskExits(222, 0, 0).TaskExits(222.5, kBatchStep, 0).Ended(223, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  const SignalDelivery& delivery = Only(ledger);
  EXPECT_EQ(delivery.processes, 2) << "not the extern step's";
  EXPECT_EQ(delivery.receivers.size(), 2U);
  EXPECT_EQ(delivery.tasks, 1);
  EXPECT_EQ(delivery.tasks_handled, 1);
  EXPECT_EQ(ledger.warnings, std::vector<std::string>{});
}

TEST(SignalLedger, WhereOnlyTheScriptIsAskedItIsItsHandlerThatCounts) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run).TaskStarts(11, kBatchStep);
  attempt.In(kBatchStep).Signal(183, SIGUSR1, false).TaskKilled(183.1, kBatchStep, SIGUSR1).In(0);
  attempt.TaskKilled(183.5, 0, SIGTERM).Ended(184, "FAILED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(Only(ledger).tasks_unprepared, 1);
  ASSERT_EQ(ledger.warnings.size(), 1U);
  EXPECT_EQ(ledger.warnings[0].find("no task has a handler for USR1"), 0U);
}

TEST(SignalLedger, AProcessThatIsAskedAgainBeginsAnotherDelivery) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run).TaskStarts(12, 0, 1);
  for (const double t : {183.0, 183.7, 184.4})
    attempt.Signal(t, SIGUSR1, true, 0).Signal(t + 0.2, SIGUSR1, true, 1);
  // At a time limit TERM may arrive twice at once.
  attempt.Signal(185, SIGTERM, true, 0).Signal(185.001, SIGTERM, true, 0);
  attempt.TaskExits(200, 0, 0).TaskExits(200, 0, 0, 1).Ended(201, "TIMEOUT");
  const SignalLedger ledger = run.Build().signals;
  ASSERT_EQ(ledger.deliveries.size(), 4U);
  EXPECT_EQ(ledger.deliveries[1].tasks, 2);
  EXPECT_TRUE(ledger.deliveries[1].repeats);
  EXPECT_EQ(ledger.deliveries[3].processes, 1);
}

TEST(SignalLedger, TheTermOfALimitIsNoAskOfAJobThatIsAskedByAnotherSignal) {
  RunBuilder run;
  AttemptBuilder& attempt =
      TrainsAndSaves(run).Signal(183, SIGUSR1, true).Save(10, 190, 220).Steps(11, 15, 220, 10);
  attempt.Signal(267, SIGTERM, std::nullopt).TaskKilled(267.1, 0, SIGTERM).Ended(268, "TIMEOUT");
  EXPECT_EQ(WhatItSays(run.Build().signals), "1 signal, 1 checkpoint in time");
  EXPECT_EQ(run.Build().signals.deliveries.front().grace, 84 * kSecond);
  attempt.facts.checkpoint_signals = {SIGUSR1, SIGTERM};
  EXPECT_EQ(run.Build().signals.summary, "2 signals, 1 checkpoint in time, 1 without a checkpoint")
      << "a job that says it is asked by TERM is";
}

TEST(SignalLedger, GraceIsThatOfTheLastAsk) {
  RunBuilder run;
  AttemptBuilder& attempt =
      TrainsAndSaves(run).Signal(183, SIGUSR1, true).Save(10, 190, 220).Steps(11, 15, 220, 10);
  attempt.Signal(267, SIGTERM, true).SaveBegins(15, 268).Signal(272, SIGKILL, std::nullopt);
  attempt.TaskKilled(272.1, 0, SIGKILL).Ended(273, "REQUEUED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(ledger.deliveries[0].grace, std::nullopt) << "nobody ended it for that one";
  EXPECT_EQ(ledger.deliveries[1].grace, 5 * kSecond);
}

TEST(SignalLedger, ASaveThatWasUnderWayIsTheAnswerOfAProgramThatLeavesWithIt) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 4, 20, 10).SaveBegins(4, 70).Signal(80, SIGUSR1, true).SaveEnds(4, 100);
  AttemptBuilder told = attempt;
  attempt.TaskExits(101, 0, 0).Ended(102, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(WhatItSays(ledger), "1 signal, 1 checkpoint in time");
  EXPECT_EQ(Only(ledger).checkpoint_begin, At(70));
  // For a program that continues training, it does not count.
  RunBuilder on;
  on.Attempt() = told;
  on.Last().Steps(5, 9, 100, 10).TaskExits(150, 0, 0).Ended(151, "COMPLETED");
  EXPECT_EQ(on.Build().signals.summary, "1 signal, 0 checkpoints in time, 1 without a checkpoint");
}

TEST(SignalLedger, WhatAScriptLeftBehindIsNotTheProgram) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run).TaskStarts(11, kBatchStep);
  attempt.Signal(183, SIGTERM, true).SaveBegins(10, 190).In(kBatchStep);
  attempt.HelperSignal(183.2, SIGKILL, "srun", std::nullopt, -1).In(0).Signal(200, SIGKILL, std::nullopt);
  attempt.TaskKilled(200.1, 0, SIGKILL).Ended(201, "TIMEOUT");
  EXPECT_EQ(run.Build().signals.deliveries.front().grace, 17 * kSecond);
}

TEST(SignalLedger, SaysWhenWhatWasSavedWasNotUsed) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .TaskExits(222, 0, 0)
      .Ended(223, "REQUEUED");
  TrainsAndSaves(run, 5, 300).TaskExits(500, 0, 0).Ended(501, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  ASSERT_EQ(ledger.warnings.size(), 1U);
  EXPECT_EQ(ledger.warnings[0],
            "the checkpoint requested by USR1 in attempt 1 was complete, but attempt 2 resumed at step 5 "
            "although step 9 was done: check which checkpoint the program restores");
  RunBuilder good;
  TrainsAndSaves(good)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .TaskExits(222, 0, 0)
      .Ended(223, "REQUEUED");
  TrainsAndSaves(good, 11, 300).TaskExits(500, 0, 0).Ended(501, "COMPLETED");
  EXPECT_EQ(good.Build().signals.warnings, std::vector<std::string>{});
}

TEST(SignalLedger, TheKernelsKillIsNoGrace) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .SaveBegins(10, 190)
      .Signal(200, SIGKILL, std::nullopt, 0, "kernel");
  run.Last().TaskKilled(200.1, 0, SIGKILL).Ended(201, "OUT_OF_MEMORY");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(ledger.deliveries[0].grace, std::nullopt);
  EXPECT_EQ(ledger.summary, "1 signal, 0 checkpoints in time, 1 ended 20 s before it finished");
}

TEST(SignalLedger, OfARunningJobIsOpen) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGUSR1, true);
  run.Now(185);
  EXPECT_EQ(run.Build().signals.summary, "1 signal, 0 checkpoints in time, 1 still open");
}

TEST(SignalLedger, ThroughAWindowHasTheSignalsWithinIt) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(183, SIGUSR1, true)
      .Save(10, 190, 220)
      .Steps(11, 14, 220, 10)
      .Signal(263, SIGUSR1, true)
      .Save(14, 265, 295)
      .TaskExits(300, 0, 0)
      .Ended(301, "COMPLETED");
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(200), At(301));
  EXPECT_EQ(timeline.signals.deliveries.size(), 1U);
  EXPECT_EQ(timeline.signals.summary, "1 signal, 1 checkpoint in time");
}

std::string EvidenceOfBucket(const Timeline& timeline, Bucket bucket) {
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket == bucket) return std::string(EvidenceName(interval.evidence)) + ": " + interval.why;
  }
  return "";
}

TEST(StopSignal, ExitZeroAfterTermIsAnInterruptionAndTheWayOutIsDrain) {
  RunBuilder run;
  // Step 10 is done at 190, saved until 220, and the program exits at 222.
  TrainsAndSaves(run)
      .Signal(183, SIGTERM, true)
      .Save(10, 190, 220)
      .TaskExits(222, 0, 0)
      .Ended(223, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(
      RunBuilder::Tell(timeline),
      "queue_other.reason not recorded 0-5 | provisioning 5-10 | launch 10-12 | startup 12-20 | productive "
      "20-70 | "
      "checkpoint_save 70-100 | productive 100-150 | checkpoint_save 150-180 | productive 180-190 | "
      "checkpoint_save 190-220 | drain 220-222 | teardown 222-223");
  EXPECT_EQ(EvidenceOfBucket(timeline, Bucket::kDrain), "signal: told to stop: TERM from slurmstepd");
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "cancelled");
  EXPECT_TRUE(timeline.interruptions[0].planned) << "everything was saved";
}

TEST(StopSignal, WhatWasNotSavedByThenIsLostThoughItExitedWithZero) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGTERM, true).TaskExits(195, 0, 0).Ended(196, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_NE(RunBuilder::Tell(timeline).find("lost_work 180-190 | drain 190-195 | teardown 195-196"),
            std::string::npos)
      << RunBuilder::Tell(timeline);
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_FALSE(timeline.interruptions[0].planned);
}

TEST(StopSignal, ACheckpointSignalIsOneWhenTheProgramLeavesBecauseOfIt) {
  const auto interruptions = [](int steps_after) {
    RunBuilder run;
    AttemptBuilder& attempt = TrainsAndSaves(run).Signal(183, SIGUSR1, true).Save(10, 190, 220);
    if (steps_after > 0) attempt.Steps(11, 10 + steps_after, 220, 10);
    attempt.TaskExits(221 + 10 * steps_after, 0, 0).Ended(230 + 10 * steps_after, "COMPLETED");
    return run.Build().interruptions.size();
  };
  EXPECT_EQ(interruptions(0), 1U);
  EXPECT_EQ(interruptions(10), 0U) << "it saved because it was asked to, and trained on";
}

TEST(StopSignal, IsNoneWhereNobodyAskedTheProgram) {
  const auto finished = [](const std::function<void(AttemptBuilder&)>& sent) {
    RunBuilder run;
    sent(TrainsAndSaves(run));
    run.Last().TaskExits(190, 0, 0).Ended(191, "COMPLETED");
    return run.Build().interruptions.empty();
  };
  EXPECT_TRUE(finished([](AttemptBuilder& a) { a.HelperSignal(185, SIGTERM, "worker", false, 0, "job"); }));
  EXPECT_TRUE(finished([](AttemptBuilder& a) { a.In(3).Signal(185, SIGTERM, true); })) << "another srun's";
  EXPECT_TRUE(finished([](AttemptBuilder& a) { a.Signal(195, SIGTERM, true); })) << "it was gone by then";
  EXPECT_TRUE(finished([](AttemptBuilder& a) {
    a.Signal(185, SIGTERM, std::nullopt);
    a.facts.signals.back().ignored = true;
  }));
  EXPECT_FALSE(finished([](AttemptBuilder& a) { a.Signal(185, SIGTERM, true); }));
}

TEST(StopSignal, WhatSlurmSendsTheOthersOfAFailedTaskIsNoOrder) {
  RunBuilder run;
  TrainsAndSaves(run).TaskStarts(12, 0, 1).TaskExits(185, 0, 1, 1).Signal(185.2, SIGTERM, false);
  run.Last().TaskKilled(185.3, 0, SIGTERM).Ended(186, "FAILED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].cause, "failed");
  EXPECT_EQ(EvidenceOfBucket(timeline, Bucket::kDrain), "");
}

TEST(Cause, TheKernelsKillIsMemoryRunningOut) {
  RunBuilder run;
  TrainsAndSaves(run)
      .Signal(185, SIGKILL, std::nullopt, 0, "kernel")
      .TaskKilled(185.1, 0, SIGKILL)
      .Ended(186, "FAILED");
  ASSERT_EQ(run.Build().interruptions.size(), 1U);
  EXPECT_EQ(run.Build().interruptions[0].cause, "oom");
}

TEST(Cause, AProgramThatLeftBecauseOfTermDidNotFail) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGTERM, true).TaskExits(185, 0, 143).Ended(186, "FAILED");
  ASSERT_EQ(run.Build().interruptions.size(), 1U);
  EXPECT_EQ(run.Build().interruptions[0].cause, "cancelled");
}

TEST(NodeLoss, WorkEndsWhenTheNodeWasLastSeenAlive) {
  RunBuilder run;
  TrainsAndSaves(run).LastSeenAlive(186).Ended(500, "NODE_FAIL").facts.failed_node = "n1";
  const Timeline timeline = run.Build();
  const std::string story = RunBuilder::Tell(timeline);
  EXPECT_NE(story.find("checkpoint_save 150-180 | lost_work 180-186 | stall 186-500"), std::string::npos)
      << story;
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  const Interruption& interruption = timeline.interruptions[0];
  EXPECT_EQ(interruption.cause, "node_fail");
  EXPECT_EQ(interruption.t_ch, 36 * kSecond) << "since the save that began at 150";
  EXPECT_EQ(interruption.t_detect, 314 * kSecond);
  EXPECT_EQ(EvidenceOfBucket(timeline, Bucket::kStall),
            "inferred: node n1 was last seen alive at the begin of this interval");
  ASSERT_EQ(timeline.stalls.size(), 1U);
  EXPECT_EQ(timeline.stalls[0].ns, 314 * kSecond);
  const std::vector<std::string>& evidence = interruption.evidence;
  EXPECT_NE(std::find(evidence.begin(), evidence.end(), "node n1 was last seen alive 314 s before the end"),
            evidence.end());
}

TEST(NodeLoss, WhatTheProgramSaidLaterProvesThatItLived) {
  RunBuilder run;
  TrainsAndSaves(run).Step(11, 190).LastSeenAlive(184).Ended(500, "NODE_FAIL");
  EXPECT_NE(run.Story().find("lost_work 180-190 | stall 190-500"), std::string::npos) << run.Story();
}

TEST(NodeLoss, AnyOfSeveralNodesThatFellSilentEndsIt) {
  RunBuilder run;
  TrainsAndSaves(run).LastSeenAlive(190, "n1").LastSeenAlive(185, "n2").Ended(500, "NODE_FAIL");
  EXPECT_NE(run.Story().find("lost_work 180-185 | stall 185-500"), std::string::npos) << run.Story();
  run.Last().facts.failed_node = "n1";
  EXPECT_NE(run.Story().find("lost_work 180-190 | stall 190-500"), std::string::npos) << run.Story();
}

TEST(NodeLoss, IsNoneWhereNoNodeFailed) {
  RunBuilder run;
  TrainsAndSaves(run).LastSeenAlive(185).TaskExits(190, 0, 0).Ended(191, "COMPLETED");
  EXPECT_EQ(run.Story().find("stall"), std::string::npos) << run.Story();
}

TEST(SignalLedger, ATaskMayBeReapedSecondsAfterTheSignalThatKilledIt) {
  RunBuilder run;
  TrainsAndSaves(run).Signal(183, SIGTERM, std::nullopt).TaskKilled(185, 0, SIGTERM).Ended(186, "CANCELLED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(Only(ledger).tasks_died, 1);
  EXPECT_EQ(Only(ledger).tasks_unprepared, 1);
}

TEST(SignalLedger, ALargeJobIsNotifiedOneNodeAfterTheOther) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsAndSaves(run);
  for (int task = 0; task < 5; ++task) {
    if (task > 0) attempt.TaskStarts(12, 0, task);
    attempt.Signal(183 + 0.8 * task, SIGUSR1, true, task);
  }
  for (int task = 0; task < 5; ++task) attempt.TaskExits(222, 0, 0, task);
  attempt.Ended(223, "COMPLETED");
  const SignalLedger ledger = run.Build().signals;
  EXPECT_EQ(Only(ledger).tasks, 5);
}

TEST(SignalLedger, OfABlockOnlyTheStepsAfterTheSignalHaveBegunAfterIt) {
  AttemptFacts attempt;
  StepBlock block;
  block.first.t = At(0);
  block.first.train_step = 0;
  block.last.t = At(100);
  block.last.train_step = 100;
  block.stride = 1;
  attempt.step_blocks.push_back(block);
  EXPECT_EQ(StepsBegun(attempt, At(50), At(1000)), 50);
  EXPECT_EQ(StepsBegun(attempt, At(100), At(1000)), 0);
  EXPECT_EQ(StepsBegun(attempt, At(-10), At(1000)), 100);
}

}  // namespace
}  // namespace goodput
