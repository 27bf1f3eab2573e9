// Rows of a roll-up add up exactly to the runs, and each interval is in the right row.
#include "tools/accounting/rollup/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/rollup/node_chance.h"
#include "tools/accounting/rollup/provision.h"
#include "tools/accounting/timeline/clip.h"

namespace goodput {
namespace {

// Killed at 1000 with 100 s of lost work, back after 50 s of waiting and 20 s of startup.
RunBuilder Interrupted(int gpus) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .Gpus(gpus)
      .Srun(0, 15, 1000, 1)
      .Steps(0, 98, 15, 10)
      .Save(89, 915, 915)
      .Ended(1000, "NODE_FAIL");
  run.Attempt()
      .Submitted(1000)
      .Eligible(1000)
      .Started(1050)
      .Ready(1052)
      .Gpus(gpus)
      .Srun(0, 1055, 2070, 0)
      .Steps(90, 189, 1070, 10)
      .Ended(2071, "COMPLETED");
  return run;
}

RollupSubject Subject(const std::string& user) {
  return {user, "acc-" + user, "a3", "run-" + user, {{"team", user}}};
}

// Four ranks on n1 and n2, of which rank 3, on n2, begins each of `steps` steps of 10 s 2 s late.
RunBuilder WithALateRank(int gpus, int steps) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Gpus(gpus);
  attempt.facts.node_list = "n[1-2]";
  for (int rank = 0; rank < 4; ++rank) {
    attempt.TaskStarts(0, 0, rank).In(0, rank).From(rank / 2);
    attempt.Steps(1, steps, rank == 3 ? 12 : 10, 10).TaskExits(10 * steps + 10, 0, 0, rank);
  }
  attempt.Ended(10 * steps + 10, "COMPLETED");
  return run;
}

struct Sums {
  std::array<Ns, kBucketCount> ns{};
  std::array<GpuNs, kBucketCount> gpu_ns{};
  bool operator==(const Sums& other) const { return ns == other.ns && gpu_ns == other.gpu_ns; }
};

Sums Of(const std::vector<RollupRow>& rows) {
  Sums sums;
  for (const RollupRow& row : rows) {
    for (std::size_t i = 0; i < kBucketCount; ++i) {
      sums.ns[i] += row.ns[i];
      sums.gpu_ns[i] += row.gpu_ns[i];
    }
  }
  return sums;
}

Sums Of(const std::vector<Timeline>& timelines) {
  Sums sums;
  for (const Timeline& timeline : timelines) {
    const Account account = TakeAccount(timeline);
    for (std::size_t i = 0; i < kBucketCount; ++i) {
      sums.ns[i] += account.buckets[i].ns;
      if (account.has_gpus) sums.gpu_ns[i] += account.buckets[i].gpu_ns;
    }
  }
  return sums;
}

// Runs of odd lengths on odd numbers of nodes and GPUs.
class ManyRuns {
 public:
  explicit ManyRuns(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 12; ++i) {
      runs_.emplace_back();
      RunBuilder& run = runs_.back();
      double t = static_cast<double>(random() % 200'000) + 0.123456789;
      const int gpus = static_cast<int>(random() % 4) * 7;
      const std::uint64_t attempts = 1 + random() % 4;
      for (std::uint64_t a = 0; a < attempts; ++a) {
        AttemptBuilder& attempt = run.Attempt(i + 1).Submitted(t);
        attempt.Gpus(gpus).Started(t += static_cast<double>(random() % 9000));
        attempt.facts.node_list = random() % 3 == 0 ? "n[1-3]" : random() % 2 == 0 ? "n[2-8]" : "";
        t += 3.3;
        attempt.Ready(t)
            .Srun(0, t + 1, t + 90'001, 1)
            .Steps(static_cast<std::int64_t>(a) * 50, 99 + static_cast<std::int64_t>(a) * 50, t + 20, 900);
        if (random() % 2 == 0)
          attempt.World(t + 7000.7, 5, 9 + static_cast<std::int64_t>(random() % 20))
              .World(t + 50'000.1, 20, 30, 1);
        attempt.Ended(t += 90'002.7, a + 1 == attempts ? "COMPLETED"
                                     : a % 2 == 0      ? "NODE_FAIL"
                                                       : "PREEMPTED");
      }
    }
  }
  std::vector<Timeline> Timelines() {
    std::vector<Timeline> timelines;
    for (RunBuilder& run : runs_) timelines.push_back(run.Build());
    return timelines;
  }

 private:
  std::deque<RunBuilder> runs_;
};

TEST(Rollup, AddsUpToTheRunsByWhateverItIsGrouped) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ManyRuns runs(seed);
    const std::vector<Timeline> timelines = runs.Timelines();
    const Sums expected = Of(timelines);
    for (const char* by : {"all", "user", "account", "partition", "run", "tag", "node", "day", "cause",
                           "reservation", "consumption", "stockout"}) {
      Rollup rollup(*RollupByName(by), "team", {});
      for (std::size_t i = 0; i < timelines.size(); ++i)
        rollup.Add(Subject(i % 3 == 0 ? "eve" : "adam"), timelines[i]);
      EXPECT_TRUE(Of(rollup.Rows()) == expected) << by << ", seed " << seed;
      EXPECT_TRUE(Of(std::vector<RollupRow>{rollup.Total()}) == expected) << by;
      EXPECT_EQ(rollup.Total().runs, 12) << by;
    }
  }
}

TEST(Rollup, WindowsAddUpToWhatTheClippedRunsHave) {
  for (const double hours : {1.0, 7.3, 24.0}) {
    ManyRuns runs(5);
    std::vector<Timeline> timelines = runs.Timelines();
    const Ns begin = At(30'000);
    const Ns end = At(310'000);
    std::vector<Ns> edges = WindowEdges(begin, end, static_cast<Ns>(hours * 3600) * kSecond);
    edges.back() = end;
    for (const char* by : {"all", "user", "node", "day", "cause"}) {
      Rollup rollup(*RollupByName(by), "", edges);
      for (const Timeline& timeline : timelines) rollup.Add(Subject("eve"), timeline);
      ManyRuns again(5);
      std::vector<Timeline> clipped = again.Timelines();
      for (Timeline& timeline : clipped) ClipTimeline(timeline, begin, end);
      EXPECT_TRUE(Of(rollup.Rows()) == Of(clipped)) << by << " " << hours;
    }
  }
}

std::map<std::string, RollupRow> ByGroup(const Rollup& rollup) {
  std::map<std::string, RollupRow> rows;
  for (const RollupRow& row : rollup.Rows()) rows[row.group] = row;
  return rows;
}

Ns In(const RollupRow& row, Bucket bucket) {
  return row.ns[static_cast<std::size_t>(bucket)];
}

TEST(Rollup, ACauseHasWhatWasLostToIt) {
  RunBuilder run = Interrupted(8);
  Rollup rollup(RollupBy::kCause, "", {});
  rollup.Add(Subject("eve"), run.Build());
  auto rows = ByGroup(rollup);
  ASSERT_EQ(rows.size(), 2U);
  const RollupRow& failed = rows["node_fail"];
  EXPECT_EQ(failed.interruptions, 1);
  EXPECT_EQ(In(failed, Bucket::kLostWork), 85 * kSecond) << "steps 90 to 98, from 915 to the end";
  EXPECT_EQ(In(failed, Bucket::kQueueOther), 50 * kSecond);
  EXPECT_EQ(In(failed, Bucket::kProvisioning), 2 * kSecond);
  EXPECT_EQ(In(failed, Bucket::kLaunch), 3 * kSecond);
  EXPECT_EQ(In(failed, Bucket::kStartup), 15 * kSecond);
  EXPECT_EQ(In(failed, Bucket::kProductive), 0);
  // The first start was not caused by an interruption.
  EXPECT_EQ(In(rows["-"], Bucket::kLaunch), 3 * kSecond);
  EXPECT_EQ(In(rows["-"], Bucket::kQueueOther), 10 * kSecond);
  EXPECT_EQ(rows["-"].interruptions, 0);
}

TEST(Rollup, ANodeHasItsShareAndWaitingHasNoNode) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(10)
      .Gpus(24)
      .Srun(0, 10, 110, 0)
      .Steps(0, 9, 10, 10)
      .Ended(110, "COMPLETED");
  RunFacts facts = run.Facts();
  facts.attempts[0].node_list = "n[1-3]";
  Rollup rollup(RollupBy::kNode, "", {});
  rollup.Add(Subject("eve"), BuildTimeline(facts));
  auto rows = ByGroup(rollup);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(In(rows["-"], Bucket::kQueueOther), 10 * kSecond);
  for (const char* node : {"n1", "n2", "n3"})
    EXPECT_EQ(rows[node].allocated(), static_cast<GpuNs>(800) * kSecond) << node;
}

TEST(Rollup, ANodeHasTheErrorsOfItsHardwareOnce) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(10).Gpus(24).Srun(0, 10, 110, 0).Ended(110, "COMPLETED");
  RunFacts facts = run.Facts();
  facts.attempts[0].node_list = "n[1-3]";
  facts.attempts[0].kernel_log_nodes = {"n1", "n2"};
  const auto error = [&](double s, std::int64_t xid, std::int64_t count) {
    HardwareError made;
    made.t = made.last_t = At(s);
    made.node = "n1";
    made.code = xid;
    made.count = count;
    facts.attempts[0].hardware_errors.push_back(made);
  };
  error(20, 79, 1);
  error(20, 48, 4);
  error(20, 31, 7);  // the program's
  Rollup rollup(RollupBy::kNode, "", {});
  rollup.Add(Subject("eve"), BuildTimeline(facts));
  rollup.Add(Subject("bob"), BuildTimeline(facts));  // a job that shares the nodes
  auto rows = ByGroup(rollup);
  EXPECT_EQ(rows["n1"].hardware_errors, 5);
  EXPECT_EQ(rows["n2"].hardware_errors, 0);
  EXPECT_EQ(rows["n3"].hardware_errors, std::nullopt) << "not read is not 0";
  EXPECT_EQ(rows["-"].hardware_errors, std::nullopt);
  // Each in its window.
  Rollup windows(RollupBy::kNode, "", {At(0), At(15), At(200)});
  windows.Add(Subject("eve"), BuildTimeline(facts));
  std::vector<std::int64_t> of_n1;
  for (const RollupRow& row : windows.Rows()) {
    if (row.group == "n1") of_n1.push_back(row.hardware_errors.value_or(-1));
  }
  EXPECT_EQ(of_n1, (std::vector<std::int64_t>{0, 5}));
}

TEST(Rollup, ANodeHasTheLastTestOfTheNetworkItTookPartIn) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(10).Gpus(24).Srun(0, 10, 110, 0).Ended(110, "COMPLETED");
  RunFacts facts = run.Facts();
  facts.attempts[0].node_list = "n[1-3]";
  const auto test = [&](double s, std::int64_t busbw, std::vector<std::string> nodes) {
    CollectiveTest made;
    made.t = At(s);
    made.bytes = 8;
    made.busbw = busbw;
    made.nodes = std::move(nodes);
    facts.attempts[0].collectives.push_back(made);
  };
  test(20, 100, {"n1", "n2", "n3"});
  test(40, 50, {"n1", "n2"});
  test(30, 70, {"n1", "n2"});
  test(60, 400, {"n1"});  // within one node: no network
  Rollup rollup(RollupBy::kNode, "", {});
  rollup.Add(Subject("eve"), BuildTimeline(facts));
  auto rows = ByGroup(rollup);
  for (const auto& [node, busbw] : std::map<std::string, std::int64_t>{{"n1", 50}, {"n2", 50}, {"n3", 100}}) {
    ASSERT_TRUE(rows[node].network) << node;
    EXPECT_EQ(rows[node].network->busbw, busbw) << node;
  }
  EXPECT_FALSE(rows["-"].network);
  // Each window has its own latest test; only rows of nodes have one.
  Rollup windows(RollupBy::kNode, "", {At(0), At(35), At(50)});
  windows.Add(Subject("eve"), BuildTimeline(facts));
  std::vector<std::int64_t> of_n1;
  for (const RollupRow& row : windows.Rows()) {
    if (row.group == "n1") of_n1.push_back(row.network->busbw);
  }
  EXPECT_EQ(of_n1, (std::vector<std::int64_t>{70, 50}));
  Rollup by_user(RollupBy::kUser, "", {});
  by_user.Add(Subject("eve"), BuildTimeline(facts));
  EXPECT_FALSE(by_user.Rows().front().network);
}

TEST(Rollup, ANodesFailuresAreWeighedByItsTime) {
  // Four failures, three of them on n1, which had a quarter of the time.
  Rollup rollup(RollupBy::kNode, "", {});
  std::deque<RunFacts> facts;
  for (int i = 0; i < 4; ++i) {
    RunBuilder run = Interrupted(32);
    facts.push_back(run.Facts());
    for (AttemptFacts& attempt : facts.back().attempts) attempt.node_list = "n[1-4]";
    facts.back().attempts[0].failed_node = i < 3 ? "n1" : "n2";
    rollup.Add(Subject("eve"), BuildTimeline(facts.back()));
  }
  auto rows = ByGroup(rollup);
  EXPECT_EQ(rows["n1"].node_failures, 3);
  EXPECT_EQ(rows["n1"].node_ns, 4 * (2071 - 60) * kSecond);
  ASSERT_TRUE(rows["n1"].chance);
  EXPECT_NEAR(*rows["n1"].chance, 4 * (4 * std::pow(0.25, 3) * 0.75 + std::pow(0.25, 4)), 1e-12);
  EXPECT_DOUBLE_EQ(*rows["n2"].chance, 1);
  EXPECT_FALSE(rows["n3"].chance);
}

TEST(NodeChance, IsTheTailOfABinomialDistribution) {
  EXPECT_DOUBLE_EQ(ChanceOfFailures(0, 10, 0.1, 5), 1);
  EXPECT_NEAR(ChanceOfFailures(1, 1, 0.25, 1), 0.25, 1e-12);
  EXPECT_NEAR(ChanceOfFailures(2, 2, 0.5, 1), 0.25, 1e-12);
  EXPECT_NEAR(ChanceOfFailures(2, 2, 0.01, 100), 0.01, 1e-12) << "any of a hundred nodes";
  EXPECT_DOUBLE_EQ(ChanceOfFailures(1, 2, 0.01, 1000), 1) << "no more than certain";
  EXPECT_DOUBLE_EQ(ChanceOfFailures(3, 3, 1, 1), 1) << "the only node has all failures";
}

std::string NameOf(std::string_view reservation, std::string_view partition,
                   const std::vector<std::string_view>& features) {
  MachineEvidence machines;
  machines.reservation = reservation;
  machines.partition = partition;
  machines.features = features;
  return ProvisionOf(machines).name();
}

TEST(Rollup, WhatGpusDidIsInTheRowOfTheirTime) {
  RunBuilder run = Interrupted(8);
  GpuUseSpan span;
  span.begin = At(2000);  // of the second attempt, which trains until 2070
  span.end = At(2040);
  span.gpus = 8;
  span.busy = 5'000;
  span.tensor = 2'000;
  run.Last().facts.gpu_use.Add(span);
  const Timeline timeline = run.Build();
  for (const RollupBy by : {RollupBy::kUser, RollupBy::kDay, RollupBy::kCause, RollupBy::kConsumption}) {
    Rollup rollup(by, "", {});
    rollup.Add(Subject("eve"), timeline);
    GpuNs measured = 0;
    for (const RollupRow& row : rollup.Rows()) measured += row.gpu_use.measured;
    EXPECT_EQ(measured, GpuNs{8} * 40 * kSecond);
    EXPECT_EQ(rollup.Total().gpu_use.measured, measured);
    EXPECT_DOUBLE_EQ(*BusyShare(rollup.Total().productive_gpu_use), 0.5);
    EXPECT_DOUBLE_EQ(*TensorShare(rollup.Total().gpu_use), 0.2);
    EXPECT_FALSE(EnergyJ(rollup.Total().gpu_use)) << "it was not measured";
  }
  Rollup windows(RollupBy::kAll, "", {At(0), At(2010), At(3000)});
  windows.Add(Subject("eve"), timeline);
  EXPECT_EQ(windows.Rows().at(0).gpu_use.measured, GpuNs{8} * 10 * kSecond);
  EXPECT_EQ(windows.Rows().at(1).gpu_use.measured, GpuNs{8} * 30 * kSecond);
  Rollup nodes(RollupBy::kNode, "", {});
  nodes.Add(Subject("eve"), timeline);
  EXPECT_EQ(nodes.Total().gpu_use.measured, 0) << "of which node is not known";
}

TEST(Provision, IsToldByNamesThatSaySoAndNotGuessed) {
  EXPECT_EQ(NameOf("llm", "spot", {"spot"}), "reserved:llm");
  EXPECT_EQ(NameOf("", "a3", {"a3,spot", "spot"}), "spot");
  EXPECT_EQ(NameOf("", "a3", {"spot", "reserved"}), "-") << "its nodes differ";
  EXPECT_EQ(NameOf("", "a3", {"spot", ""}), "-") << "of one it is not known";
  EXPECT_EQ(NameOf("", "a3-flex-start", {}), "flex-start");
  EXPECT_EQ(NameOf("", "a3_dws_flex", {"a3"}), "flex-start");
  EXPECT_EQ(NameOf("", "OnDemand", {}), "on-demand");
  EXPECT_EQ(NameOf("", "on-demand", {}), "on-demand");
  EXPECT_EQ(NameOf("", "reserved", {}), "reserved");
  EXPECT_EQ(NameOf("", "spotlight", {}), "-");
  EXPECT_EQ(NameOf("", "spot-or-on-demand", {}), "-") << "it says both";
  EXPECT_EQ(NameOf("", "", {}), "-");
  EXPECT_EQ(NameOf("", "a3-dws-calendar", {}), "calendar");
}

std::string KindAndEvidence(const MachineEvidence& machines) {
  const Provision provision = ProvisionOf(machines);
  return provision.kind + " " + std::string(provision.evidence);
}

TEST(Provision, NodesAreNamedAfterTheirNodeset) {
  MachineEvidence machines;
  machines.cluster = "reserved";
  machines.partition = "a3";
  machines.nodes = {"reserved-spot-0", "reserved-spot-1"};
  EXPECT_EQ(KindAndEvidence(machines), "spot node") << "the cluster's own name does not count";
  machines.nodes.emplace_back("reserved-a3-0");
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "one node is of another nodeset";
}

TEST(Provision, MachinesKnowBetterThanNames) {
  MachineEvidence machines;
  machines.partition = "reserved";
  machines.reservation = "llm";
  machines.models = {"SPOT", "SPOT"};
  EXPECT_EQ(KindAndEvidence(machines), "spot machine");
  machines.models = {"SPOT", ""};
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "a spot machine is not a reserved one; the other is unknown";
  machines.models = {"SPOT", "STANDARD"};
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "they differ";
  machines.models = {"STANDARD", "STANDARD"};
  EXPECT_EQ(ProvisionOf(machines).name(), "reserved:llm");
  machines.reservation = "";
  EXPECT_EQ(KindAndEvidence(machines), "reserved partition");
  machines.partition = "a3";
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "on demand or reserved: nothing says which";
  machines.models = {"RESERVATION_BOUND", "RESERVATION_BOUND"};
  EXPECT_EQ(KindAndEvidence(machines), "reserved machine");
  machines.partition = "a3-calendar";
  EXPECT_EQ(KindAndEvidence(machines), "calendar partition") << "a kind of reservation";
  machines.models = {"FLEX_START"};
  EXPECT_EQ(KindAndEvidence(machines), "flex-start machine");
  machines.models = {"NOT_SPOT"};
  machines.partition = "spot";
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "the partition's name is wrong";
  machines.models = {"STANDARD"};
  machines.partition = "flex-start";
  EXPECT_EQ(KindAndEvidence(machines), "- -");
}

TEST(Provision, SlurmGcpReclaimsOnlyPreemptibleMachines) {
  MachineEvidence machines;
  machines.partition = "a3";
  machines.taken_node = "n1";
  EXPECT_EQ(KindAndEvidence(machines), "spot reason");
  machines.models = {"STANDARD"};
  EXPECT_EQ(KindAndEvidence(machines), "- -") << "an administrator wrote that reason";
}

// An attempt on spot machines that the cloud reclaims, and one in a reservation.
TEST(Rollup, ConsumptionHasWaitsEvidenceAndItsShareOfMpg) {
  RunBuilder run = Interrupted(8);
  RunFacts facts = run.Facts();
  facts.attempts[0].node_list = "n1";
  facts.attempts[0].machines = {{"n1", "", "us-east4-b"}, {"n1", "SPOT", ""}};
  facts.attempts[1].reservation = "llm";
  const Timeline timeline = BuildTimeline(facts);
  RollupSubject subject = Subject("eve");
  subject.program = 0.4;
  Rollup rollup(RollupBy::kConsumption, "", {});
  rollup.Add(subject, timeline);
  auto rows = ByGroup(rollup);
  ASSERT_EQ(rows.size(), 2U);
  RollupRow& spot = rows["spot"];
  RollupRow& reserved = rows["reserved"];
  EXPECT_EQ(spot.interruptions, 1);
  EXPECT_EQ(spot.waited(), GpuNs{8} * 12 * kSecond) << "queue and provisioning";
  EXPECT_EQ(reserved.waited(), GpuNs{8} * 52 * kSecond);
  EXPECT_EQ(reserved.waited_ns(), 52 * kSecond);
  EXPECT_EQ(spot.allocated(), GpuNs{8} * 990 * kSecond);
  EXPECT_EQ(spot.told_by, (std::map<std::string, GpuNs>{{"machine", spot.allocated()}}));
  EXPECT_EQ(reserved.told_by, (std::map<std::string, GpuNs>{{"reservation", reserved.allocated()}}));
  ASSERT_TRUE(spot.mpg && reserved.mpg);
  EXPECT_DOUBLE_EQ(*spot.mpg, *spot.scheduling() * *spot.runtime() * 0.4);
  // A run whose FLOPs are unknown leaves the factor, but not the product.
  subject.program.reset();
  rollup.Add(subject, timeline);
  rows = ByGroup(rollup);
  EXPECT_DOUBLE_EQ(*rows["spot"].program, 0.4);
  EXPECT_DOUBLE_EQ(*rows["spot"].program_share, 0.5);
  EXPECT_FALSE(rows["spot"].mpg);
  EXPECT_DOUBLE_EQ(*rollup.Total().program_share, 0.5);
}

TEST(Rollup, AnAttemptIsOfItsOwnReservation) {
  RunBuilder run = Interrupted(8);
  RunFacts facts = run.Facts();
  facts.attempts[0].reservation = "llm";
  for (AttemptFacts& attempt : facts.attempts) attempt.node_list = "n1";
  Rollup rollup(RollupBy::kReservation, "", {});
  const std::map<std::string, std::string> features{{"n1", "h100,spot"}};
  RollupSubject subject = Subject("eve");
  subject.node_features = &features;
  rollup.Add(subject, BuildTimeline(facts));
  auto rows = ByGroup(rollup);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows["reserved:llm"].interruptions, 1);
  EXPECT_EQ(In(rows["reserved:llm"], Bucket::kQueueOther), 10 * kSecond);
  EXPECT_EQ(In(rows["spot"], Bucket::kQueueOther), 50 * kSecond);
  EXPECT_EQ(In(rows["reserved:llm"], Bucket::kProductive), 900 * kSecond);
}

TEST(Rollup, AWindowInAnOutageIsZeroAndOneWithoutRunsIsUnknown) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .Gpus(8)
      .Srun(0, 0, 1000, 1)
      .Steps(0, 99, 0, 10)
      .Ended(1000, "NODE_FAIL");
  run.Attempt()
      .Submitted(1000)
      .Started(9000)
      .Ready(9000)
      .Gpus(8)
      .Srun(0, 9000, 9500, 0)
      .Steps(100, 149, 9000, 10)
      .Ended(9500, "COMPLETED");
  Rollup rollup(RollupBy::kAll, "", WindowEdges(At(0), At(12'000), 2000 * kSecond));
  rollup.Add(Subject("eve"), run.Build());
  const std::vector<RollupRow> rows = rollup.Rows();
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_DOUBLE_EQ(*rows[0].sg_rg(), 0.5);
  EXPECT_EQ(rows[0].interruptions, 1);
  EXPECT_DOUBLE_EQ(*rows[1].scheduling(), 0);
  EXPECT_DOUBLE_EQ(*rows[1].sg_rg(), 0);
  EXPECT_FALSE(rows[1].runtime()) << "nothing was up that could have trained";
  EXPECT_FALSE(rows[5].sg_rg());
  EXPECT_EQ(rows[5].runs, 0);
}

TEST(Rollup, RunsWithoutGpusCountNoGpuHours) {
  Rollup rollup(RollupBy::kUser, "", {});
  rollup.Add(Subject("eve"), Interrupted(8).Build());
  rollup.Add(Subject("adam"), Interrupted(0).Build());
  auto rows = ByGroup(rollup);
  EXPECT_EQ(rows["adam"].wanted(), 0);
  EXPECT_EQ(rows["adam"].sg_rg(), rows["eve"].sg_rg()) << "by time";
  EXPECT_EQ(rollup.Total().wanted(), rows["eve"].wanted());
}

// 100 s with an unknown outcome.
RunBuilder Uninstrumented(int gpus) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(gpus).Ended(100, "COMPLETED");
  return run;
}

TEST(Rollup, WhatNobodyObservedIsNotWaste) {
  Rollup alone(RollupBy::kAll, "", {});
  RunBuilder run = Uninstrumented(8);
  alone.Add(Subject("eve"), run.Build());
  const RollupRow row = alone.Total();
  EXPECT_EQ(row.allocated(), static_cast<GpuNs>(800) * kSecond);
  EXPECT_EQ(row.unobserved(), row.allocated());
  EXPECT_EQ(row.wasted(), 0);
  EXPECT_EQ(row.maybe_wasted(), row.allocated());
  EXPECT_DOUBLE_EQ(*row.scheduling(), 1);
  EXPECT_FALSE(row.runtime()) << "nobody saw a step";
  EXPECT_FALSE(row.sg_rg());
  EXPECT_EQ(row.runtime_range(), (Range{0, 1}));
  EXPECT_EQ(row.sg_rg_range(), (Range{0, 1}));
}

TEST(Rollup, WhatNobodyObservedWidensTheRangeOfASum) {
  Rollup rollup(RollupBy::kAll, "", {});
  rollup.Add(Subject("eve"), Uninstrumented(8).Build());
  RunBuilder trained;
  trained.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .Gpus(8)
      .Srun(0, 10, 110, 0)
      .Steps(0, 9, 10, 10)
      .Ended(110, "COMPLETED");
  rollup.Add(Subject("eve"), trained.Build());
  const RollupRow row = rollup.Total();
  EXPECT_DOUBLE_EQ(*row.runtime(), 100.0 / 210) << "the least it can be";
  EXPECT_DOUBLE_EQ(row.runtime_range()->second, 200.0 / 210);
  EXPECT_EQ(row.wasted(), static_cast<GpuNs>(80) * kSecond) << "the launch";
  EXPECT_EQ(row.maybe_wasted(), static_cast<GpuNs>(800) * kSecond);
}

TEST(Rollup, StepsAtRiskAreNotWasteYet) {
  Rollup rollup(RollupBy::kAll, "", {});
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(8).TaskStarts(0, 0).Steps(0, 9, 0, 10);
  RunFacts facts = run.Facts();
  facts.now = At(100);
  rollup.Add(Subject("eve"), BuildTimeline(facts));
  const RollupRow row = rollup.Total();
  EXPECT_DOUBLE_EQ(*row.runtime(), 0);
  EXPECT_EQ(row.runtime_range(), (Range{0, 1}));
  EXPECT_EQ(row.wasted(), 0);
  EXPECT_EQ(row.maybe_wasted(), row.allocated());
}

TEST(Rollup, ASuspendedJobHoldsItsNodes) {
  Rollup rollup(RollupBy::kAll, "", {});
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(8).Suspended(20, 60).Ended(100, "COMPLETED");
  rollup.Add(Subject("eve"), run.Build());
  EXPECT_EQ(rollup.Total().allocated(), static_cast<GpuNs>(800) * kSecond);
  EXPECT_EQ(rollup.Total().wasted(), static_cast<GpuNs>(8 * 40) * kSecond);
}

// An interruption at 1000, resources 50 s later, the first step 20 s after that.
const Interruption* CauseOf(const Timeline& timeline, Bucket bucket, double begin, double end,
                            std::string_view part = {}) {
  Interval interval;
  interval.part = part;
  interval.begin = At(begin);
  interval.end = At(end);
  interval.bucket = bucket;
  return InterruptionOf(timeline, interval);
}

TEST(Rollup, AnInterruptionHasTheStallThatItEndedAndTheLaunchThatFollowed) {
  Timeline timeline;
  Interruption interruption;
  interruption.time = At(1000);
  interruption.t_re = 50 * kSecond;
  interruption.t_rm = 20 * kSecond;
  timeline.interruptions = {interruption};
  const Interruption* const it = timeline.interruptions.data();
  EXPECT_EQ(CauseOf(timeline, Bucket::kStall, 900, 999.5), it) << "it ended with the program's last second";
  EXPECT_EQ(CauseOf(timeline, Bucket::kStall, 900, 990), nullptr) << "the program went on";
  EXPECT_EQ(CauseOf(timeline, Bucket::kLostWork, 900, 990), it);
  EXPECT_EQ(CauseOf(timeline, Bucket::kLostWork, 900, 990, kFailedStep), nullptr)
      << "it had failed before, and the program went on";
  EXPECT_EQ(CauseOf(timeline, Bucket::kLaunch, 1050, 1060), it);
  EXPECT_EQ(CauseOf(timeline, Bucket::kStartup, 1060, 1070), it);
  EXPECT_EQ(CauseOf(timeline, Bucket::kLaunch, 2000, 2010), nullptr) << "another srun of the same job";
  EXPECT_EQ(CauseOf(timeline, Bucket::kProductive, 1070, 1080), nullptr);
}

TEST(Rollup, AnIntervalOverMidnightBelongsToBothDays) {
  const Ns midnight = absl::ToUnixNanos(absl::FromCivil(absl::CivilDay(2026, 3, 2), absl::LocalTimeZone()));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(1).Ended(100, "COMPLETED");
  Timeline timeline = run.Build();
  ASSERT_EQ(timeline.intervals.size(), 1U);
  timeline.intervals.others()[0].begin = midnight - 30 * kSecond;
  timeline.intervals.others()[0].end = midnight + 70 * kSecond;
  Rollup rollup(RollupBy::kDay, "", {});
  rollup.Add(Subject("eve"), timeline);
  const std::vector<RollupRow> rows = rollup.Rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(In(rows[0], Bucket::kUnobserved), 30 * kSecond);
  EXPECT_EQ(In(rows[1], Bucket::kUnobserved), 70 * kSecond);
}

TEST(Rollup, APreemptionIsNoFailureOfItsNode) {
  RunBuilder run = Interrupted(8);
  RunFacts facts = run.Facts();
  for (AttemptFacts& attempt : facts.attempts) attempt.node_list = "n1";
  facts.attempts[0].state = "PREEMPTED";
  facts.attempts[0].failed_node = "n1";
  Rollup rollup(RollupBy::kNode, "", {});
  rollup.Add(Subject("eve"), BuildTimeline(facts));
  auto rows = ByGroup(rollup);
  EXPECT_EQ(rows["n1"].interruptions, 1);
  EXPECT_EQ(rows["n1"].node_failures, 0);
}

TEST(Rollup, AGapIsNoAllocationAnybodyKnowsOf) {
  RunBuilder run = Interrupted(8);
  Timeline timeline = run.Build();
  Ns gap = 0;
  for (Interval& interval : timeline.intervals.others()) {
    if (interval.bucket != Bucket::kQueueOther || interval.begin < At(1000)) continue;
    interval.bucket = Bucket::kUnobserved;
    interval.part = "gap";
    gap += interval.end - interval.begin;
  }
  ASSERT_EQ(gap, 50 * kSecond);
  Rollup with_gap(RollupBy::kAll, "", {});
  with_gap.Add(Subject("eve"), timeline);
  Rollup without(RollupBy::kAll, "", {});
  without.Add(Subject("eve"), run.Build());
  EXPECT_EQ(with_gap.Total().allocated(), without.Total().allocated());
  EXPECT_EQ(with_gap.Total().maybe_wasted(), 0);
  EXPECT_EQ(with_gap.Total().wasted(), without.Total().wasted());
  EXPECT_FALSE(with_gap.Total().scheduling());
  EXPECT_DOUBLE_EQ(with_gap.Total().scheduling_range()->first, *without.Total().scheduling());
}

TEST(WindowEdges, OfDaysAreMidnightsAlsoWhereClocksChange) {
  setenv("TZ", "Europe/Berlin", 1);
  tzset();
  const absl::TimeZone zone = absl::LocalTimeZone();
  const Ns begin = absl::ToUnixNanos(absl::FromCivil(absl::CivilDay(2026, 3, 28), zone));
  const std::vector<Ns> edges = WindowEdges(begin, begin + 60 * 3600 * kSecond, 86'400 * kSecond);
  ASSERT_EQ(edges.size(), 4U);
  if (zone.name() == "localtime" || zone.name() == "Europe/Berlin") {
    EXPECT_EQ(edges[2] - edges[1], 23 * 3600 * kSecond) << "the night clocks go forward";
  }
  for (const Ns edge : edges) EXPECT_EQ(absl::ToCivilSecond(absl::FromUnixNanos(edge), zone).hour(), 0);
  EXPECT_EQ(WindowEdges(5, 20, 10), (std::vector<Ns>{5, 15, 25}));
}

TEST(Rollup, ANodeHasTheTimeInWhichOthersWaitedForItsRanks) {
  for (const int gpus : {0, 8}) {
    RunBuilder first = WithALateRank(gpus, 20);
    RunBuilder second = WithALateRank(gpus, 30);
    RunBuilder silent = Interrupted(gpus);
    silent.Last().facts.node_list = "n3";
    RollupSubject subject = Subject("ada");
    subject.late_nodes = {"n2"};
    Rollup rollup(RollupBy::kNode, "", {At(0), At(100), At(400)});
    GpuNs waited = 0;
    GpuNs productive = 0;
    for (RunBuilder* run : {&first, &second}) {
      rollup.Add(subject, run->Build());
      waited += run->Count().rank_wait->wait;
      productive += run->Count().buckets[static_cast<std::size_t>(Bucket::kProductive)].gpu_ns;
    }
    rollup.Add(Subject("bob"), silent.Build());
    NodeWait sum;
    for (const RollupRow& row : rollup.Rows()) {
      if (row.group == "n3" || row.group == "-") {
        EXPECT_FALSE(row.awaited()) << row.group;
        continue;
      }
      if (row.group != "n1" && row.group != "n2") continue;
      ASSERT_TRUE(row.awaited()) << row.group;
      EXPECT_EQ(row.awaited()->time.wait > 0, row.group == "n2");
      if (row.group == "n2") sum.Add(*row.awaited());
    }
    // 19 and 29 of the steps were waited in, for 1.5 of 10 s.
    EXPECT_EQ(sum.time.wait, waited);
    EXPECT_EQ(waited, 48 * kSecond * 3 / 2 * std::max(gpus, 1));
    EXPECT_EQ(sum.productive, productive);
    EXPECT_EQ(rollup.Total().awaited()->time.wait, waited);
    EXPECT_EQ(rollup.Total().awaited()->productive, productive);
    EXPECT_NEAR(sum.share(), 48. * 1.5 / 500, 1e-9);
    Rollup unnamed(RollupBy::kNode, "", {});
    unnamed.Add(Subject("ada"), first.Build());
    for (const RollupRow& row : unnamed.Rows()) {
      if (row.group != "-") continue;
      ASSERT_TRUE(row.awaited());
      EXPECT_NEAR(row.awaited()->share(), 19. * 1.5 / 200, 1e-9) << "its node is unknown";
    }
  }
}

}  // namespace
}  // namespace goodput
