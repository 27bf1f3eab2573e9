// Whether the host ended an attempt: cloud notices before a node was lost or a job was requeued.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/run_builder.h"

namespace goodput {
namespace {

using Kind = HostNotice::Kind;

void Say(AttemptBuilder& attempt, double s, Kind kind, const std::string& value,
         const std::string& node = "n1", std::optional<double> window = std::nullopt,
         std::optional<double> window_end = std::nullopt) {
  HostNotice notice;
  notice.t = At(s);
  notice.kind = kind;
  notice.value = value;
  notice.node = node;
  if (window) notice.window = At(*window);
  if (window_end) notice.window_end = At(*window_end);
  attempt.facts.host_notices.push_back(notice);
}

// Trains from 10 on and is killed at 100; Slurm reports `state`.
AttemptBuilder& Lost(RunBuilder& run, const std::string& state) {
  return run.Attempt()
      .Submitted(0)
      .Started(5)
      .Ready(6)
      .SrunKilled(0, 10, 100)
      .In(0)
      .Steps(0, 8, 10, 10)
      .Ended(100, state);
}

Interruption OnlyInterruption(RunBuilder& run) {
  const Timeline timeline = run.Build();
  EXPECT_EQ(timeline.interruptions.size(), 1U);
  return timeline.interruptions.empty() ? Interruption() : timeline.interruptions[0];
}

bool HasEvidence(const Interruption& interruption, const std::string& words) {
  return std::find(interruption.evidence.begin(), interruption.evidence.end(), words) !=
         interruption.evidence.end();
}

TEST(Host, ASpotMachineThatWasToldIsPreempted) {
  RunBuilder run;
  Say(Lost(run, "NODE_FAIL"), 72, Kind::kPreempted, "TRUE");
  const Interruption end = OnlyInterruption(run);
  EXPECT_EQ(end.cause, "preempted");
  EXPECT_EQ(end.node, "n1");
  EXPECT_TRUE(HasEvidence(end, "the host of node n1 announced its preemption 28 s before the end"));
  EXPECT_TRUE(HasEvidence(end, "Slurm's state: NODE_FAIL"));
}

TEST(Host, ARequeueRightAfterThatNoticeIsAPreemptionAndMuchLaterIsNot) {
  RunBuilder soon;
  Say(Lost(soon, "REQUEUED"), 70, Kind::kPreempted, "TRUE");
  EXPECT_EQ(OnlyInterruption(soon).cause, "preempted");
  RunBuilder late;
  auto& attempt =
      late.Attempt().Submitted(0).Started(5).Ready(6).SrunKilled(0, 10, 300).In(0).Steps(0, 28, 10, 10);
  Say(attempt.Ended(300, "REQUEUED"), 100, Kind::kPreempted, "TRUE");
  const Interruption end = OnlyInterruption(late);
  EXPECT_EQ(end.cause, "user_requeue");
  EXPECT_TRUE(HasEvidence(end, "the host of node n1 announced its preemption 200 s before the end"))
      << "a rival";
}

TEST(Host, SlurmMayTakeMinutesToFindANodeGone) {
  RunBuilder run;
  auto& attempt =
      run.Attempt().Submitted(0).Started(5).Ready(6).SrunKilled(0, 10, 500).In(0).Steps(0, 8, 10, 10);
  Say(attempt.Ended(500, "NODE_FAIL").LastSeenAlive(99), 72, Kind::kPreempted, "TRUE");
  EXPECT_EQ(OnlyInterruption(run).cause, "preempted");
}

TEST(Host, MaintenanceThatEndsTheMachineIsTheCause) {
  for (const std::string state : {"NODE_FAIL", "REQUEUED"}) {
    RunBuilder run;
    Say(Lost(run, state), 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE");
    const Interruption end = OnlyInterruption(run);
    EXPECT_EQ(end.cause, "maintenance");
    EXPECT_TRUE(
        HasEvidence(end, "the host of node n1 reported TERMINATE_ON_HOST_MAINTENANCE 80 s before the end"));
  }
}

TEST(Host, MaintenanceThatIsMigratedTakenBackOrOfAnotherNodeIsNot) {
  RunBuilder migrated;
  Say(Lost(migrated, "NODE_FAIL"), 20, Kind::kMaintenance, "MIGRATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(OnlyInterruption(migrated).cause, "node_fail");
  EXPECT_TRUE(HasEvidence(OnlyInterruption(migrated),
                          "the host of node n1 reported MIGRATE_ON_HOST_MAINTENANCE 80 s before the end"));

  RunBuilder taken_back;
  auto& attempt = Lost(taken_back, "NODE_FAIL");
  Say(attempt, 50, Kind::kMaintenance, "NONE");
  Say(attempt, 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(OnlyInterruption(taken_back).cause, "node_fail");

  RunBuilder after;
  Say(Lost(after, "NODE_FAIL"), 150, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(OnlyInterruption(after).cause, "node_fail");

  RunBuilder other;
  auto& lost = Lost(other, "NODE_FAIL");
  lost.facts.down_nodes = "node n12 went down: Xid 79";
  Say(lost, 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE", "n1");
  EXPECT_EQ(OnlyInterruption(other).cause, "node_fail");
  lost.facts.failed_node = "n1";
  EXPECT_EQ(OnlyInterruption(other).cause, "maintenance");
}

TEST(Host, AnAnnouncedWindowIsTheCauseOnlyWhileItIsOpen) {
  const auto cause = [](std::optional<double> begin, std::optional<double> end) {
    RunBuilder run;
    Say(Lost(run, "NODE_FAIL"), 20, Kind::kUpcomingMaintenance, "SCHEDULED/PENDING", "n1", begin, end);
    return OnlyInterruption(run).cause;
  };
  EXPECT_EQ(cause(90, 500), "maintenance");
  EXPECT_EQ(cause(90, std::nullopt), "maintenance");
  EXPECT_EQ(cause(3700, 9000), "node_fail");
  EXPECT_EQ(cause(30, 60), "node_fail");
  EXPECT_EQ(cause(std::nullopt, std::nullopt), "node_fail");
  RunBuilder ahead;
  Say(Lost(ahead, "NODE_FAIL"), 20, Kind::kUpcomingMaintenance, "SCHEDULED/PENDING", "n1", 3700, 9000);
  EXPECT_TRUE(HasEvidence(
      OnlyInterruption(ahead),
      "the host of node n1 announced maintenance (SCHEDULED/PENDING), beginning 3600 s after the end"));
}

TEST(Host, WhatSlurmKnowsBetterStands) {
  RunBuilder preempted;
  auto& attempt = Lost(preempted, "PREEMPTED");
  Say(attempt.Preempted(95), 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(OnlyInterruption(preempted).cause, "preempted");
  for (const auto& [state, cause] :
       {std::pair{"TIMEOUT", "timeout"}, std::pair{"CANCELLED by 0", "cancelled"},
        std::pair{"FAILED", "failed"}, std::pair{"OUT_OF_MEMORY", "oom"}}) {
    RunBuilder run;
    Say(Lost(run, state), 80, Kind::kPreempted, "TRUE");
    EXPECT_EQ(OnlyInterruption(run).cause, cause) << state;
    EXPECT_TRUE(HasEvidence(OnlyInterruption(run),
                            "the host of node n1 announced its preemption 20 s before the end"));
  }
  // A program that failed by itself, and whose script then requested the requeue.
  RunBuilder failed;
  auto& script =
      failed.Attempt().Submitted(0).Started(5).Ready(6).Srun(0, 10, 90, 1).In(0).Steps(0, 7, 10, 10);
  Say(script.Ended(100, "REQUEUED"), 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(OnlyInterruption(failed).cause, "failed");
}

TEST(Host, ManyNodesThatSayTheSameAreOneWord) {
  RunBuilder run;
  auto& attempt = Lost(run, "NODE_FAIL");
  for (const char* node : {"n3", "n1", "n2"})
    Say(attempt, 20, Kind::kMaintenance, "TERMINATE_ON_HOST_MAINTENANCE", node);
  Say(attempt, 75, Kind::kPreempted, "TRUE", "n2");
  const Interruption end = OnlyInterruption(run);
  EXPECT_EQ(end.cause, "preempted") << "the nearer one";
  EXPECT_EQ(end.node, "n2");
  EXPECT_TRUE(HasEvidence(
      end, "the host of node n1 and 2 more reported TERMINATE_ON_HOST_MAINTENANCE 80 s before the end"));
}

}  // namespace
}  // namespace goodput
