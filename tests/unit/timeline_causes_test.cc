// Why an incarnation ended, if Slurm's state alone does not tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/hang.h"

namespace goodput {
namespace {

// Ten steps of ten seconds from 20 on.
AttemptBuilder& TrainsFrom20(RunBuilder& run) {
  return run.Attempt().Submitted(0).Eligible(0).Started(10).Ready(11).TaskStarts(12, 0).Steps(0, 9, 20, 10);
}

AttemptBuilder& DiesOf(RunBuilder& run, const std::string& state) {
  return TrainsFrom20(run).TaskKilled(118, 0, SIGKILL).Ended(119, state);
}

Interruption Only(RunBuilder& run) {
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.interruptions.size(), 1U);
  return timeline.interruptions.empty() ? Interruption{} : timeline.interruptions[0];
}

bool Says(const Interruption& interruption, const std::string& words) {
  return std::any_of(interruption.evidence.begin(), interruption.evidence.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

TEST(Cause, AMachineTheCloudTookBackIsAPreemption) {
  for (const char* state : {"NODE_FAIL", "REQUEUED"}) {
    RunBuilder run;
    AttemptFacts& facts = DiesOf(run, state).facts;
    facts.down_nodes = "node n1 went down: Preempted instance";
    facts.taken_node = "n1";
    const Interruption interruption = Only(run);
    EXPECT_EQ(interruption.cause, "preempted") << state;
    EXPECT_EQ(interruption.node, "n1");
    EXPECT_TRUE(Says(interruption, "Preempted instance"));
  }
}

TEST(Cause, AMachineThatIsGoneOtherwiseIsANodeFailure) {
  RunBuilder run;
  DiesOf(run, "NODE_FAIL").facts.down_nodes = "node n1 went down: Unbacked instance";
  const Interruption interruption = Only(run);
  EXPECT_EQ(interruption.cause, "node_fail");
  EXPECT_TRUE(Says(interruption, "Unbacked instance"));
}

// Slurm 24.05 to 26.05.2: the first attempt ended because of TERM and had itself requeued, which was done at
// 121; the second ended by itself at 332, but Slurm reports PREEMPTED.
struct Leftover {
  RunBuilder run;
  AttemptBuilder& first =
      TrainsFrom20(run).Signal(118, SIGTERM, true).Save(9, 119, 120).TaskExits(120, 0, 85);
  AttemptBuilder& second = run.Attempt();

  Leftover() {
    first.TaskStarts(12, kBatchStep).TaskKilled(120.5, kBatchStep, SIGTERM).Ended(121, "REQUEUED");
    second.Submitted(121).Eligible(121).Started(230).Ready(231).TaskStarts(232, 0).Steps(10, 18, 240, 10);
    second.TaskExits(331, 0, 0).Ended(332, "PREEMPTED");
    run.Attempt().Submitted(332).Eligible(332).Started(430).Ready(431).TaskStarts(432, 0).Steps(10, 12, 440,
                                                                                                10);
  }
  std::vector<Interruption> Interruptions() {
    std::vector<Interruption> found = run.Build().interruptions;
    found.resize(2);
    return found;
  }
  std::vector<std::string> Causes() {
    const std::vector<Interruption> found = Interruptions();
    return {found[0].cause, found[1].cause};
  }
};

using Causes = std::vector<std::string>;

TEST(Cause, PreemptedIsNoCauseWhereItIsLeftOfAnEarlierPreemption) {
  for (const int exit_code : {0, 1}) {
    Leftover left;
    left.first.Preempted(118);
    left.second.facts.node_events.back().exit_code = exit_code;
    EXPECT_EQ(left.Causes(), (Causes{"preempted", exit_code == 0 ? "unknown" : "failed"}));
    EXPECT_TRUE(Says(left.Interruptions()[1], "no other job took its nodes"));
  }
  Leftover timed;
  timed.first.Preempted(118);
  timed.second.Preempted(331);
  EXPECT_EQ(timed.Causes(), (Causes{"preempted", "preempted"}));
}

TEST(Cause, WhoTookTheNodesProvesAPreemptionOnlyOfWhatWasToldToEnd) {
  const auto of = [](bool signals_seen, bool told) {
    Leftover left;
    left.first.Preempted(118);
    if (!signals_seen) left.first.facts.signals.clear();
    left.second.facts.preempted_by = "job 7 of partition high started on its nodes 0 s later";
    if (told) left.second.Signal(330, SIGTERM, true);
    return left.Causes()[1];
  };
  EXPECT_EQ(of(true, false), "unknown");
  EXPECT_EQ(of(true, true), "preempted");
  EXPECT_EQ(of(false, false), "preempted") << "it may have been told";
}

TEST(Cause, APreemptionNobodySawIsToldByWhatIsLeftOfIt) {
  Leftover left;
  EXPECT_EQ(left.Causes(), (Causes{"preempted", "unknown"}));
  const std::vector<Interruption> found = left.Interruptions();
  EXPECT_TRUE(found[0].planned) << "it had saved";
  EXPECT_TRUE(Says(found[0], "inferred: it exited before the requeue"));
  EXPECT_TRUE(Says(found[1], "an earlier attempt"));
}

TEST(Cause, WhatWasNotToldToLeaveBeforeItsRequeueWasNotPreempted) {
  // The requeue itself sent TERM: the script had already ended.
  Leftover requeued;
  requeued.first.facts.node_events.back().t = At(118);
  EXPECT_EQ(requeued.Causes(), (Causes{"user_requeue", "preempted"}));
  for (const char* sender : {"job", "outside", ""}) {
    Leftover other;
    other.first.facts.signals.back().sender = sender;
    EXPECT_EQ(other.Causes(), (Causes{"user_requeue", "preempted"})) << sender;
  }
  Leftover other_signal;
  other_signal.first.facts.signals.back().signo = SIGUSR1;
  EXPECT_EQ(other_signal.Causes(), (Causes{"user_requeue", "preempted"}));
}

TEST(Cause, WhatWasToldToEndWasPreemptedItself) {
  Leftover told;
  told.second.Signal(330, SIGTERM, true);
  EXPECT_EQ(told.Causes(), (Causes{"user_requeue", "preempted"}));
  Leftover killed;
  killed.second.facts.node_events.pop_back();
  killed.second.TaskKilled(331, 0, SIGKILL);
  EXPECT_EQ(killed.Causes(), (Causes{"user_requeue", "preempted"}));
}

TEST(Cause, WhatWasToldToEndAndTrainedOnWasPreemptedItself) {
  Leftover ignored;
  ignored.second.Signal(245, SIGTERM, false);
  EXPECT_EQ(ignored.Causes(), (Causes{"user_requeue", "preempted"}));

  // Slurm terminates the remaining tasks after a task fails.
  Leftover failed;
  failed.second.facts.node_events.back().exit_code = 1;
  failed.second.Signal(331.1, SIGTERM, false);
  EXPECT_EQ(failed.Causes(), (Causes{"preempted", "failed"}));
}

TEST(Cause, OnePreemptionIsLeftOverOnceAndToItsOwnJob) {
  Leftover twice;
  twice.run.Last().TaskExits(470, 0, 0).Ended(471, "PREEMPTED");
  std::vector<std::string> causes;
  for (const Interruption& interruption : twice.run.Build().interruptions)
    causes.push_back(interruption.cause);
  EXPECT_EQ(causes, (Causes{"preempted", "unknown", "preempted"}));

  Leftover other_job;
  other_job.second.facts.job_id = 2;
  EXPECT_EQ(other_job.Causes(), (Causes{"user_requeue", "preempted"}));
}

TEST(Cause, ARequeueAfterAnOperatorDrainedTheNodeIsTheirs) {
  RunBuilder run;
  DiesOf(run, "REQUEUED").facts.operator_acted = "node n1 was drained by root 20 s before: swap the NIC";
  const Interruption interruption = Only(run);
  EXPECT_EQ(interruption.cause, "admin_requeue");
  EXPECT_TRUE(Says(interruption, "swap the NIC"));
  EXPECT_TRUE(Says(interruption, "inferred"));
}

TEST(Cause, AnOperatorNearbyExplainsNoFailureAndNoPreemption) {
  for (const char* state : {"FAILED", "TIMEOUT", "PREEMPTED", "NODE_FAIL"}) {
    RunBuilder run;
    DiesOf(run, state).facts.operator_acted = "node n1 was drained by root 20 s before: swap the NIC";
    EXPECT_NE(Only(run).cause, "admin_requeue") << state;
  }
}

TEST(Cause, Exit93AsksForARequeueWhereThereIsOne) {
  RunBuilder requeued;
  TrainsFrom20(requeued).TaskExits(120, 0, 93).Ended(121, "REQUEUED");
  EXPECT_EQ(Only(requeued).cause, "user_requeue");

  RunBuilder resubmitted;
  TrainsFrom20(resubmitted).TaskExits(120, 0, 93).Ended(121, "FAILED");
  resubmitted.Attempt(2).Submitted(121).Eligible(121).Started(130).Ready(131).TaskStarts(132, 0).Steps(
      10, 12, 140, 10);
  EXPECT_EQ(Only(resubmitted).cause, "user_requeue");
  EXPECT_FALSE(Only(resubmitted).planned) << "nothing was saved";

  RunBuilder saved;
  TrainsFrom20(saved).Save(9, 119.9, 120).TaskExits(120, 0, 93).Ended(121, "FAILED");
  saved.Attempt(2).Submitted(121).Eligible(121).Started(130).Ready(131).TaskStarts(132, 0).Steps(10, 12, 140,
                                                                                                 10);
  EXPECT_EQ(Only(saved).cause, "user_requeue");
  EXPECT_TRUE(Only(saved).planned);

  RunBuilder nobody;
  TrainsFrom20(nobody).TaskExits(120, 0, 93).Ended(121, "FAILED");
  EXPECT_EQ(Only(nobody).cause, "failed");
  RunBuilder other;
  TrainsFrom20(other).TaskExits(120, 0, 92).Ended(121, "REQUEUED");
  EXPECT_EQ(Only(other).cause, "failed") << "it did before the requeue";
}

TEST(Cause, AFailureHasItsExitStatus) {
  RunBuilder run;
  AttemptBuilder& attempt = TrainsFrom20(run).Ended(119, "FAILED");
  attempt.facts.exit_code = 7;
  const Interruption interruption = Only(run);
  EXPECT_EQ(interruption.cause, "failed");
  EXPECT_TRUE(Says(interruption, "the job exited with code 7"));
}

TEST(Cause, ATaskThatAbortsBeforeItsScriptAsksForTheRequeueFailed) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).TaskStarts(0, 0, 0).TaskStarts(0, 0, 1).Steps(1, 9, 0, 10);
  run.Last().TaskKilled(96, 0, SIGABRT, 1).TaskKilled(96.5, 0, SIGKILL, 0).Ended(100, "REQUEUED");
  run.Attempt()
      .Submitted(100)
      .Started(110)
      .Ready(110)
      .Srun(0, 110, 130, 0)
      .Steps(1, 2, 110, 10)
      .Ended(130, "COMPLETED");
  ASSERT_EQ(run.Build().interruptions.size(), 1U);
  EXPECT_EQ(run.Build().interruptions[0].cause, "failed");
}

TEST(Cause, WhereNoTaskFailedTheScriptDid) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 90, 0).Steps(1, 9, 0, 10).Ended(91, "FAILED");
  run.Last().facts.exit_code = 3;
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  const std::vector<std::string>& evidence = timeline.interruptions[0].evidence;
  EXPECT_NE(std::find(evidence.begin(), evidence.end(), "the job exited with code 3"), evidence.end());
}

TEST(Cause, ALinkOfAChainThatEndsWellInterruptsNothing) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Started(0).Ready(0).Srun(0, 0, 50, 0).Steps(1, 5, 0, 10).Ended(50, "COMPLETED");
  run.Attempt(2)
      .Submitted(0)
      .Started(60)
      .Ready(60)
      .Srun(0, 60, 110, 0)
      .Steps(6, 10, 60, 10)
      .Ended(110, "COMPLETED");
  EXPECT_TRUE(run.Build().interruptions.empty());
  run.Attempt(3)
      .Submitted(0)
      .Started(120)
      .Ready(120)
      .Srun(0, 120, 170, 0)
      .Steps(8, 12, 120, 10)
      .Ended(170, "COMPLETED");
  ASSERT_EQ(run.Build().interruptions.size(), 1U) << "the next one lost steps of it";
  EXPECT_EQ(run.Build().interruptions[0].attempt, 1);
}

TEST(Cause, WhoTookTheNodesOfARequeuedJobPreemptedItOnlyWhereItMay) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).SrunKilled(0, 0, 100, SIGTERM).Steps(1, 9, 0, 10);
  run.Last().Ended(100, "REQUEUED");
  run.Attempt()
      .Submitted(100)
      .Started(110)
      .Ready(110)
      .Srun(0, 110, 130, 0)
      .Steps(1, 2, 110, 10)
      .Ended(130, "COMPLETED");
  const auto cause = [](RunBuilder told, const std::string& preempted_by, const std::string& taken_by) {
    RunFacts facts = told.Facts();
    facts.attempts[0].preempted_by = preempted_by;
    facts.attempts[0].taken_by = taken_by;
    return BuildTimeline(facts).interruptions.at(0).cause;
  };
  EXPECT_EQ(cause(run, "", ""), "user_requeue");
  EXPECT_EQ(cause(run, "job 7 of partition high started on its nodes 0 s later", ""), "preempted");
  EXPECT_EQ(cause(run, "", "job 7 of partition other started on its nodes 0 s later"), "unknown");
}

TEST(Cause, AnOldWordOfMissingMachinesExplainsNoLaterFailure) {
  RunBuilder failed;
  TrainsFrom20(failed).TaskExits(118, 0, 1).Ended(119, "FAILED").facts.admin_comment = "GCP Error: stockout";
  EXPECT_EQ(Only(failed).cause, "failed");

  RunBuilder never_up;
  never_up.Attempt().Submitted(0).Eligible(0).Started(10).Ended(400, "REQUEUED").facts.admin_comment =
      "GCP Error: stockout";
  never_up.Attempt().Submitted(401).Eligible(401).Started(410).Ready(411).TaskStarts(412, 0);
  EXPECT_EQ(Only(never_up).cause, "stockout");
}

// Step 9 never ends.
TEST(Cause, MachinesWereMissingOnlyForWhatNeverRan) {
  // Neither an exit nor a step is enough to have run; each of them is.
  RunBuilder trained;
  TrainsFrom20(trained).Ended(119, "REQUEUED").facts.admin_comment = "GCP Error: stockout";
  EXPECT_NE(Only(trained).cause, "stockout");
  RunBuilder exited;
  exited.Attempt().Submitted(0).Started(10).Ready(11).TaskStarts(12, 0).TaskExits(30, 0, 1).Ended(31,
                                                                                                  "FAILED");
  exited.Last().facts.admin_comment = "GCP Error: stockout";
  EXPECT_EQ(Only(exited).cause, "failed");
  RunBuilder never;
  never.Attempt().Submitted(0).Started(10).Ended(31, "FAILED").facts.admin_comment = "GCP Error: stockout";
  EXPECT_EQ(Only(never).cause, "stockout");
}

TEST(Cause, AProgramThatASignalKilledAsksForNothing) {
  RunBuilder run;
  DiesOf(run, "FAILED").facts.exit_code = 93;
  run.Attempt(2).Submitted(119).Eligible(119).Started(120).Ready(121).TaskStarts(122, 0).Steps(10, 19, 130,
                                                                                               10);
  run.Last().TaskExits(230, 0, 0).Ended(231, "COMPLETED");
  EXPECT_EQ(Only(run).cause, "failed");
}

TEST(Cause, ANodeFailureIsNeverPlanned) {
  RunBuilder run;
  TrainsFrom20(run).Save(9, 120, 121).TaskKilled(125, 0, SIGKILL).Ended(126, "REQUEUED");
  EXPECT_TRUE(Only(run).planned) << "a requeue after everything was saved";
  run.Last().facts.down_nodes = "node n1 went down: Not responding";
  const Interruption interruption = Only(run);
  EXPECT_EQ(interruption.cause, "node_fail");
  EXPECT_FALSE(interruption.planned);
}

TEST(Cause, ALostNodeIsNotNoticedBeforeTheEnd) {
  RunBuilder run;
  AttemptFacts& facts = DiesOf(run, "NODE_FAIL").facts;
  facts.failed_node = "n1";
  facts.noticed = At(60);
  EXPECT_EQ(Only(run).t_detect, At(119) - At(110));
}

TEST(Cause, OnlyAKillOfItsOwnTaskIsOutOfMemory) {
  RunBuilder own;
  DiesOf(own, "FAILED").Signal(117, SIGKILL, std::nullopt, 0, "kernel");
  EXPECT_EQ(Only(own).cause, "oom");
  RunBuilder another;
  DiesOf(another, "FAILED").In(7).Signal(117, SIGKILL, std::nullopt, 0, "kernel");
  EXPECT_EQ(Only(another).cause, "failed");
  RunBuilder helper;
  DiesOf(helper, "FAILED").HelperSignal(117, SIGKILL, "dataloader", std::nullopt, 0, "kernel");
  EXPECT_EQ(Only(helper).cause, "failed");
}

AttemptBuilder& Hangs(RunBuilder& run, double until, const std::string& state) {
  return TrainsFrom20(run).TaskKilled(until - 1, 0, SIGKILL).Ended(until, state);
}

TEST(Cause, WhateverEndedAProgramThatHadStalledItHung) {
  for (const char* state : {"TIMEOUT", "CANCELLED", "FAILED", "REQUEUED"}) {
    RunBuilder run;
    Hangs(run, 400, state);
    const Interruption interruption = Only(run);
    EXPECT_EQ(interruption.cause, "hang") << state;
    EXPECT_TRUE(Says(interruption, "no progress for"));
    EXPECT_TRUE(Says(interruption, std::string("Slurm's state: ") + state)) << "the rival";
  }
}

// The TERM with which Slurm ends the job.
TEST(Cause, AHangThatASignalEndedIsOneToo) {
  for (const char* state : {"TIMEOUT", "CANCELLED", "REQUEUED"}) {
    RunBuilder run;
    TrainsFrom20(run).Signal(395, SIGTERM, false).TaskKilled(399, 0, SIGKILL).Ended(400, state);
    EXPECT_EQ(Only(run).cause, "hang") << state;
  }
}

TEST(Cause, AHangThatDidNotHeedAWarningIsOneToo) {
  for (const bool saves : {false, true}) {
    RunBuilder run;
    AttemptBuilder& attempt = TrainsFrom20(run).In(0).Signal(200, SIGUSR1, true);
    if (saves) attempt.Save(9, 201, 203);
    attempt.Signal(500, SIGTERM, true).TaskKilled(505, 0, SIGKILL).Ended(506, "TIMEOUT");
    attempt.facts.checkpoint_signals = {SIGUSR1};
    EXPECT_EQ(Only(run).cause, saves ? "timeout" : "hang");
  }
}

// Steps of 10 s until 60, and none afterwards.
RunBuilder HangingSince60(double now) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).TaskStarts(0, 0).Steps(1, 6, 0, 10);
  run.Now(now);
  return run;
}

TEST(Hang, OneThatGoesOnIsSeenWhileItsNodeIsHeardFrom) {
  RunBuilder run = HangingSince60(200);
  run.Last().LastSeenAlive(195);
  EXPECT_EQ(run.Story(), "at_risk 0-60 | stall 60-200");
  EXPECT_EQ(NoProgressSince(run.Build()), At(50)) << "when the last step began";
  EXPECT_TRUE(run.Build().interruptions.empty()) << "it may still go on";
}

TEST(Hang, OfANodeThatIsNotHeardFromNothingIsKnown) {
  RunBuilder run = HangingSince60(400);
  EXPECT_EQ(run.Story(), "at_risk 0-60 | unobserved.allocated 60-400") << "no heartbeat at all";
  run.Last().LastSeenAlive(390, "n2");
  EXPECT_EQ(run.Story(), "at_risk 0-60 | unobserved.allocated 60-400") << "another node's";
  RunBuilder soon = HangingSince60(400);
  soon.Last().LastSeenAlive(110);
  EXPECT_EQ(soon.Story(), "at_risk 0-60 | unobserved.allocated 60-400")
      << "until then it might be a long step";
  run.Last().LastSeenAlive(200);
  EXPECT_EQ(run.Story(), "at_risk 0-60 | stall 60-200 | unobserved.allocated 200-400") << "until then it was";
  EXPECT_EQ(NoProgressSince(run.Build()), std::nullopt);
}

TEST(Hang, AStepThatTakesAWhileIsNone) {
  RunBuilder run = HangingSince60(115);
  run.Last().LastSeenAlive(114);
  EXPECT_EQ(run.Story(), "at_risk 0-60 | unobserved.allocated 60-115");
  EXPECT_EQ(NoProgressSince(run.Build()), std::nullopt);
}

TEST(Cause, AShortStallBeforeTheEndIsNoHang) {
  RunBuilder run;
  Hangs(run, 170, "CANCELLED");  // stalled from 120 to 169
  EXPECT_EQ(Only(run).cause, "cancelled");
}

TEST(Cause, TheTimeUntilSlurmNoticedALostNodeIsDetection) {
  for (const char* state : {"NODE_FAIL", "REQUEUED"}) {
    for (const bool seen : {true, false}) {
      RunBuilder run;
      AttemptBuilder& first = TrainsFrom20(run);
      first.Ended(190, state).facts.failed_node = "n1";
      if (seen) first.LastSeenAlive(118);
      run.Attempt()
          .Submitted(190)
          .Started(200)
          .Ready(201)
          .TaskStarts(202, 0)
          .Steps(0, 9, 210, 10)
          .Ended(320, "COMPLETED");
      const Interruption interruption = Only(run);
      EXPECT_EQ(interruption.t_detect.value_or(0) / kSecond, seen ? 72 : 80) << state << seen << run.Story();
    }
  }
  // Slurm's end time is when it last heard from the node; it set the node down at 190.
  RunBuilder run;
  AttemptFacts& lost = TrainsFrom20(run).Ended(118, "NODE_FAIL").facts;
  lost.failed_node = "n1";
  lost.noticed = At(190);
  run.Attempt()
      .Submitted(190)
      .Started(200)
      .Ready(201)
      .TaskStarts(202, 0)
      .Steps(0, 9, 210, 10)
      .Ended(320, "COMPLETED");
  const Interruption interruption = Only(run);
  EXPECT_GE(interruption.t_detect.value_or(0) / kSecond, 72);
  EXPECT_LE(interruption.t_detect.value_or(0) / kSecond, 80);
  EXPECT_EQ(interruption.t_re, 11 * kSecond) << "from when it was noticed on";
}

TEST(Cause, WhatTheKernelKillsHasRunOutOfMemoryWhateverTheScriptReturns) {
  RunBuilder run;
  TrainsFrom20(run)
      .Signal(118, SIGKILL, std::nullopt, 0, "kernel")
      .TaskKilled(118, 0, SIGKILL)
      .Ended(125, "COMPLETED");
  EXPECT_EQ(Only(run).cause, "oom");
  RunBuilder silent;  // its steps are not known
  silent.Attempt().Submitted(0).Started(10).Ready(11).TaskStarts(12, 0);
  silent.Last()
      .Signal(118, SIGKILL, std::nullopt, 0, "kernel")
      .TaskKilled(118, 0, SIGKILL)
      .Ended(125, "COMPLETED");
  EXPECT_EQ(Only(silent).cause, "oom");
  RunBuilder slurms;  // signals are not recorded
  TrainsFrom20(slurms).TaskKilled(118, 0, SIGKILL).Ended(125, "COMPLETED").facts.step_out_of_memory = true;
  EXPECT_EQ(Only(slurms).cause, "oom");
}

TEST(Cause, ALostNodeIsNoHang) {
  RunBuilder run;
  Hangs(run, 400, "NODE_FAIL");
  EXPECT_EQ(Only(run).cause, "node_fail");
}

TEST(Cause, AStallItGotOverIsNoHang) {
  RunBuilder run;
  TrainsFrom20(run).Step(10, 400).Steps(11, 13, 410, 10).TaskKilled(441, 0, SIGKILL).Ended(442, "CANCELLED");
  EXPECT_EQ(Only(run).cause, "cancelled");
}

TEST(Cause, HowFarTheTimeLimitWasIsSaidOfASignalThatMayBeItsWarning) {
  RunBuilder run;
  AttemptBuilder& attempt =
      TrainsFrom20(run).In(0).Signal(118, SIGUSR1, true).TaskExits(119, 0, 0).Ended(120, "COMPLETED");
  attempt.facts.checkpoint_signals = {SIGUSR1};
  attempt.facts.time_limit = 3600 * kSecond;
  run.Attempt(2).Submitted(121).Eligible(121).Started(130).Ready(131).TaskStarts(132, 0).Steps(10, 12, 140,
                                                                                               10);
  EXPECT_TRUE(Says(Only(run), "the time limit was 3492 s away"));
}

TEST(Cause, ATimeLimitThatEndsAHangIsNotPlanned) {
  RunBuilder run;
  Hangs(run, 400, "TIMEOUT");
  EXPECT_EQ(Only(run).cause, "hang");
  EXPECT_FALSE(Only(run).planned);
}

// Two attempts of one job, or of two.
RunBuilder& GoesOn(RunBuilder& run, const std::string& state, std::int64_t next_job = 1) {
  TrainsFrom20(run).TaskKilled(118, 0, SIGKILL).Ended(120, state);
  run.Attempt(next_job).Submitted(121).Eligible(121).Started(130).Ready(131).TaskStarts(132, 0).Steps(
      10, 12, 140, 10);
  return run;
}

Interruption WithRecovery(const std::string& state, const std::string& recovery, bool expediting = false) {
  RunBuilder run;
  GoesOn(run, state);
  RunFacts facts = run.Facts();
  facts.attempts[0].recovery = recovery;
  facts.attempts[0].expediting = expediting;
  return BuildTimeline(facts).interruptions.front();
}

TEST(Recovery, IsHowTheRunWentOn) {
  EXPECT_EQ(WithRecovery("NODE_FAIL", "").recovery, "requeue");
  EXPECT_EQ(WithRecovery("NODE_FAIL", "expedite").recovery, "expedite");
  EXPECT_EQ(WithRecovery("REQUEUED", "expedite").recovery, "requeue")
      << "a user's own requeue is not expedited";
  EXPECT_EQ(WithRecovery("REQUEUED", "expedite", true).recovery, "expedite");
  EXPECT_EQ(WithRecovery("REQUEUED", "ajr").recovery, "ajr");
  EXPECT_EQ(WithRecovery("NODE_FAIL", "ajr").recovery, "requeue") << "Slurm's own";
  EXPECT_TRUE(Says(WithRecovery("REQUEUED", "ajr"), "Autonomous Job Recovery"));
  EXPECT_TRUE(Says(WithRecovery("NODE_FAIL", "expedite"), "expedited requeue"));
  RunBuilder other;
  EXPECT_EQ(Only(GoesOn(other, "FAILED", 2)).recovery, "resubmit");
  RunBuilder last;
  TrainsFrom20(last).TaskKilled(118, 0, SIGKILL).Ended(120, "FAILED");
  EXPECT_EQ(Only(last).recovery, "");
}

}  // namespace
}  // namespace goodput
