// A fleet's GPU time is partitioned exactly for any history, and each part agrees with the watch and the
// jobs.
#include "tools/accounting/fleet/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/spool.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/accounting.h"
#include "sql/tables/watch_times.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/fleet/load_fleet.h"
#include "tools/accounting/fleet/load_node_days.h"
#include "tools/accounting/fleet/node_days.h"

namespace goodput {
namespace {

using Condition = NodeCondition;

NodeWord Word(double s, Condition condition, std::int64_t gpus = 8) {
  NodeWord word;
  word.t = At(s);
  word.condition = condition;
  word.gpus = gpus;
  word.partitions = "a3";
  return word;
}

NodeWord Gone(double s) {
  NodeWord word = Word(s, Condition::kIdle);
  word.gone = true;
  return word;
}

// "idle 0-10 | down 10-20"
std::string Tell(const NodeHistory& history) {
  std::string story;
  for (const NodeSpan& span : history) {
    if (!story.empty()) story += " | ";
    char text[64];
    std::snprintf(text, sizeof text, " %g-%g", InSeconds(span.begin - kRunBegan),
                  InSeconds(span.end - kRunBegan));
    story += std::string(ConditionName(span.condition)) + text;
  }
  return story;
}

// ---- one node ----

TEST(NodeHistory, AWordIsTrueUntilTheNext) {
  const std::vector<NodeWord> words{Word(0, Condition::kIdle), Word(10, Condition::kDown),
                                    Word(20, Condition::kIdle)};
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(30)}}, {}, At(0), At(30))),
            "idle 0-10 | down 10-20 | idle 20-30");
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(30)}}, {}, At(5), At(15))), "idle 5-10 | down 10-15");
}

TEST(NodeHistory, WhenNobodyLookedNobodyKnows) {
  const std::vector<NodeWord> words{Word(0, Condition::kIdle), Word(20, Condition::kIdle)};
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(10)}, {At(20), At(30)}}, {}, At(-5), At(40))),
            "unknown -5-0 | idle 0-10 | unknown 10-20 | idle 20-30 | unknown 30-40");
}

TEST(NodeHistory, AccountingKnowsOfOutagesThatNobodySaw) {
  const std::vector<NodeWord> words{Word(0, Condition::kIdle), Word(50, Condition::kIdle)};
  const std::vector<KnownOutage> outages{{At(5), At(20), Condition::kDown},
                                         {At(15), At(30), Condition::kDrained}};
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(10)}, {At(50), At(60)}}, outages, At(0), At(60))),
            "idle 0-10 | down 10-20 | drained 20-30 | unknown 30-50 | idle 50-60")
      << "what the watch saw counts more";
}

TEST(NodeHistory, ANodeThatIsGoneOrNotYetThereIsNoPartOfTheFleet) {
  const std::vector<TimeSpan> watched{{At(0), At(100)}};
  EXPECT_EQ(Tell(HistoryOf({Word(0, Condition::kIdle), Gone(10), Word(50, Condition::kIdle)}, watched, {},
                           At(0), At(60))),
            "idle 0-10 | idle 50-60");
  EXPECT_EQ(Tell(HistoryOf({Word(30, Condition::kIdle)}, watched, {}, At(0), At(60))), "idle 30-60");
}

TEST(NodeHistory, ANodeThatVanishedWhileNobodyLookedIsGoneWhenSomebodyDoes) {
  EXPECT_EQ(
      Tell(HistoryOf({Word(0, Condition::kIdle)}, {{At(0), At(10)}, {At(20), At(40)}}, {}, At(0), At(40))),
      "idle 0-10 | unknown 10-20");
}

TEST(NodeHistory, ANodeWasDownSinceSlurmSaysSo) {
  std::vector<NodeWord> words{Word(0, Condition::kIdle), Word(10, Condition::kDown)};
  words[1].since = At(7);
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(20)}}, {}, At(0), At(20))), "idle 0-7 | down 7-20");
  words[1].since = At(-100);
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(20)}}, {}, At(0), At(20))), "down 0-20")
      << "no earlier than the last look";
  words = {Word(0, Condition::kIdle), Word(5, Condition::kIdle), Word(10, Condition::kDown)};
  words[2].since = At(2);
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(20)}}, {}, At(0), At(20))), "idle 0-5 | down 5-20");
  words = {Word(0, Condition::kIdle), Word(20, Condition::kDown)};
  words[1].since = At(15);
  EXPECT_EQ(Tell(HistoryOf(words, {{At(0), At(10)}, {At(20), At(30)}}, {}, At(0), At(30))),
            "idle 0-10 | unknown 10-20 | down 20-30")
      << "what nobody watched stays unknown";
}

TEST(NodeHistory, MoreGpusAreAnotherSpan) {
  const NodeHistory history = HistoryOf({Word(0, Condition::kIdle, 4), Word(10, Condition::kIdle, 8)},
                                        {{At(0), At(20)}}, {}, At(0), At(20));
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].gpus, 4);
  EXPECT_EQ(history[1].gpus, 8);
}

TEST(NodeCondition, IsTheWorstOfWhatSlurmSays) {
  EXPECT_EQ(ConditionOf("IDLE", {}), Condition::kIdle);
  EXPECT_EQ(ConditionOf("ALLOCATED", {"COMPLETING"}), Condition::kCompleting);
  EXPECT_EQ(ConditionOf("DRAINING", {"DRAIN", "COMPLETING"}), Condition::kDrained);
  EXPECT_EQ(ConditionOf("DRAINED*", {"DOWN", "DRAIN"}), Condition::kDown);
  EXPECT_EQ(ConditionOf("DOWN*", {}), Condition::kDown) << "as slurmdbd says it, and watches of before";
  EXPECT_EQ(ConditionOf("IDLE~", {"POWERED_DOWN"}), Condition::kOff);
  EXPECT_EQ(ConditionOf("IDLE#", {"POWERING_UP"}), Condition::kOff) << "it boots";
  EXPECT_EQ(ConditionOf("IDLE", {"MAINT"}), Condition::kDrained);
  EXPECT_EQ(ConditionOf("IDLE", {"INVALID_REG"}), Condition::kDown) << "with fewer GPUs than configured";
}

// ---- the fleet ----

double Hours(GpuNs gpu_ns) {
  return static_cast<double>(gpu_ns) / 1e9;
}

GpuNs Unheld(const FleetRow& row, Condition condition) {
  return row.unheld[static_cast<std::size_t>(condition)];
}

RunFacts OnNodes(RunBuilder& run, const std::string& nodes) {
  RunFacts facts = run.Facts();
  for (AttemptFacts& attempt : facts.attempts) attempt.node_list = nodes;
  return facts;
}

TEST(Fleet, WhatNoJobHeldIsWhatTheNodeWasIn) {
  std::map<std::string, NodeHistory> nodes{
      {"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}},
      {"n2", {{At(0), At(40), Condition::kIdle, 8, "a3"}, {At(40), At(100), Condition::kDown, 8, "a3"}}},
      {"n3", {{At(0), At(100), Condition::kOff, 8, "cloud"}}}};
  Fleet fleet(nodes, At(0), At(100));
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .Gpus(12)
      .Srun(0, 14, 34, 0)
      .Steps(0, 1, 14, 10)
      .Ended(34, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n[1-2]");
  fleet.Add(BuildTimeline(facts), 0.4);
  const FleetCount count = fleet.Count(true);
  ASSERT_EQ(count.rows.size(), 2U);
  const FleetRow& row = count.rows[0];
  EXPECT_EQ(row.group, "a3");
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(Hours(row.held_sum()), 12 * 24) << "the wait holds nothing";
  EXPECT_EQ(Hours(row.up()), 12 * 22) << "provisioning is not up";
  EXPECT_EQ(Hours(Unheld(row, Condition::kIdle)), 8 * 100 + 8 * 40 - 12 * 24);
  EXPECT_EQ(Hours(Unheld(row, Condition::kDown)), 8 * 60);
  EXPECT_EQ(Hours(row.capacity()), 1600);
  EXPECT_DOUBLE_EQ(*row.scheduling(), 12 * 22 / 1600.0);
  EXPECT_DOUBLE_EQ(*row.runtime(), 20.0 / 22);
  EXPECT_DOUBLE_EQ(*row.mpg(), 12 * 20 * 0.4 / 1600);
  EXPECT_EQ(count.rows[1].capacity(), 0) << "a machine that was shut down is no capacity";
  EXPECT_FALSE(count.rows[1].scheduling());
  EXPECT_EQ(count.total.capacity(), row.capacity());
  EXPECT_EQ(count.unplaced, 0);
}

// Job 1 loses n2 after 50 s on two nodes, and Slurm expedites its requeue, if it was asked to.
RunFacts Expedited(RunBuilder& run, const std::string& recovery, bool back) {
  run.Attempt(1).Submitted(0).Started(0).Ready(0).Gpus(16).Srun(0, 5, 50, 1).Steps(0, 3, 10, 10);
  run.Last().Ended(50, "NODE_FAIL");
  run.Last().facts.recovery = recovery;
  AttemptBuilder& next = run.Attempt(1).Submitted(50).Eligible(50).Gpus(16);
  if (back) next.Started(80).Ready(80).Srun(0, 85, 95, 0).Steps(0, 1, 85, 5).Ended(95, "COMPLETED");
  run.Now(100);
  RunFacts facts = OnNodes(run, "n[1-2]");
  if (!back) facts.attempts.back().node_list.clear();
  return facts;
}

std::map<std::string, NodeHistory> OneNodeFails() {
  return {{"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}},
          {"n2",
           {{At(0), At(50), Condition::kIdle, 8, "a3"},
            {At(50), At(70), Condition::kDown, 8, "a3"},
            {At(70), At(100), Condition::kIdle, 8, "a3"}}}};
}

TEST(Fleet, NodesThatSlurmKeepsForAJobAreNotIdle) {
  const auto count = [](const std::string& recovery, bool back) {
    RunBuilder run;
    const RunFacts facts = Expedited(run, recovery, back);
    Fleet fleet(OneNodeFails(), At(0), At(100));
    fleet.Add(BuildTimeline(facts), std::nullopt);
    const FleetCount all = fleet.Count(false);
    EXPECT_EQ(all.unplaced, 0);
    EXPECT_EQ(Hours(all.total.capacity()), 1600);
    EXPECT_EQ(Hours(Unheld(all.total, Condition::kDown)), 8 * 20) << "what failed is not kept";
    return all.total;
  };
  // n1 from 50 to 80, and n2 from 70 on.
  const FleetRow kept = count("expedite", true);
  const FleetRow requeued = count("", true);
  EXPECT_EQ(Hours(Unheld(requeued, Condition::kIdle)), 8 * (30 + 10) + 16 * 5);
  EXPECT_EQ(Hours(Unheld(kept, Condition::kIdle)), 16 * 5);
  EXPECT_EQ(Hours(kept.held_sum() - requeued.held_sum()), 8 * (30 + 10));
  EXPECT_EQ(kept.up(), requeued.up()) << "nobody works on them";
  // It still waits.
  EXPECT_EQ(Hours(Unheld(count("expedite", false), Condition::kIdle)), 0);
  EXPECT_EQ(Hours(Unheld(count("", false), Condition::kIdle)), 8 * (50 + 30));
}

TEST(Fleet, UnknownTimeMakesARange) {
  Fleet fleet(
      {{"n1", {{At(0), At(50), Condition::kIdle, 8, ""}, {At(50), At(100), Condition::kUnknown, 8, ""}}}},
      At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(8).Ended(75, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n1");
  fleet.Add(BuildTimeline(facts), std::nullopt);
  const FleetRow total = fleet.Count(false).total;
  EXPECT_EQ(Hours(Unheld(total, Condition::kUnknown)), 8 * 25) << "accounting knows who held it";
  EXPECT_DOUBLE_EQ(*total.scheduling(), 1.0);
  EXPECT_DOUBLE_EQ(total.scheduling_range()->first, 0.75);
  EXPECT_DOUBLE_EQ(total.scheduling_range()->second, 1.0);
  EXPECT_FALSE(total.mpg());
  EXPECT_FALSE(total.runtime()) << "nobody observed what the job did";
  EXPECT_EQ(total.runtime_range(), (Range{0, 1}));
}

TEST(Fleet, NodesNobodyDescribedAndMoreThanANodeHasAreCountedApart) {
  Fleet fleet({{"n1", {{At(0), At(100), Condition::kIdle, 4, "a3"}}}}, At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(16).Ended(200, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n[1-2]");
  fleet.Add(BuildTimeline(facts), std::nullopt);
  const FleetCount count = fleet.Count(false);
  EXPECT_EQ(Hours(count.total.held_sum()), 4 * 100);
  EXPECT_EQ(Hours(count.unplaced), 4 * 100 + 8 * 100);
}

TEST(Fleet, AJobThatWasResizedHeldWhatItHadThen) {
  Fleet fleet({{"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}}}, At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(2).Ended(100, "COMPLETED").facts.resizes = {
      {At(30), 8}, {At(60), 4}};
  const RunFacts facts = OnNodes(run, "n1");
  fleet.Add(BuildTimeline(facts), std::nullopt);
  const FleetRow total = fleet.Count(false).total;
  EXPECT_EQ(Hours(total.held_sum()), 30 * 8 + 30 * 4 + 40 * 2);
  EXPECT_EQ(Hours(total.capacity()), 800);
}

TEST(Fleet, ASuspendedJobHoldsItsGpus) {
  Fleet fleet({{"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}}}, At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(8).Suspended(20, 60).Ended(100, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n1");
  fleet.Add(BuildTimeline(facts), std::nullopt);
  EXPECT_EQ(Hours(fleet.Count(false).total.held_sum()), 8 * 100);
}

TEST(Fleet, GpusOnUnknownNodesAreCountedApart) {
  Fleet fleet({{"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}}}, At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(8).Ended(50, "COMPLETED");
  const RunFacts facts = OnNodes(run, "");
  fleet.Add(BuildTimeline(facts), std::nullopt);
  EXPECT_EQ(Hours(fleet.Count(false).unplaced), 8 * 50);
}

TEST(Fleet, AnMpgNeedsTheProgramGoodputOfAllThatTrained) {
  Fleet fleet({{"n1", {{At(0), At(100), Condition::kIdle, 8, "a3"}}}}, At(0), At(100));
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(4).Srun(0, 0, 100, 0).Steps(0, 9, 0, 10);
  run.Last().Ended(100, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n1");
  fleet.Add(BuildTimeline(facts), 0.4);
  EXPECT_TRUE(fleet.Count(false).total.mpg());
  fleet.Add(BuildTimeline(facts), std::nullopt);
  EXPECT_FALSE(fleet.Count(false).total.mpg());
  EXPECT_DOUBLE_EQ(fleet.Count(false).total.rated_share(), 0.5);
}

TEST(Fleet, ANodeThatChangedItsPartitionIsOneNode) {
  Fleet fleet(
      {{"n1", {{At(0), At(50), Condition::kIdle, 8, "a3"}, {At(50), At(100), Condition::kIdle, 8, "a4"}}}},
      At(0), At(100));
  const FleetCount count = fleet.Count(true);
  EXPECT_EQ(count.rows.size(), 2U);
  EXPECT_EQ(count.total.nodes, 1);
}

// The days of nodes have the GPU time of the fleet, condition by condition.
void ExpectSameDays(const std::vector<NodeDay>& days, const FleetRow& total, std::uint64_t seed) {
  std::array<GpuNs, kNodeUseCount> sums{};
  for (const NodeDay& day : days) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      EXPECT_GE(day.time.gpu_ns[i], 0) << "seed " << seed;
      sums[i] += day.time.gpu_ns[i];
    }
  }
  const auto in = [&](NodeUse use) { return sums[static_cast<std::size_t>(use)]; };
  EXPECT_TRUE(in(NodeUse::kAllocated) == total.held_sum()) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kIdle) == Unheld(total, Condition::kIdle)) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kDown) == Unheld(total, Condition::kDown)) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kDrained) == Unheld(total, Condition::kDrained)) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kCompleting) == Unheld(total, Condition::kCompleting)) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kOff) == Unheld(total, Condition::kOff)) << "seed " << seed;
  EXPECT_TRUE(in(NodeUse::kUnknown) == Unheld(total, Condition::kUnknown)) << "seed " << seed;
}

Ns TimeOf(const std::vector<NodeDay>& days, const std::string& node) {
  Ns sum = 0;
  for (const NodeDay& day : days) {
    if (day.node != node) continue;
    Ns of_day = 0;
    for (const Ns ns : day.time.ns) of_day += ns;
    EXPECT_GT(of_day, 0);
    EXPECT_LE(of_day, kUtcDay);
    sum += of_day;
  }
  return sum;
}

// How long the node was in the fleet, or held.
Ns Covered(const NodeHistory& history, const std::vector<NodeHold>& holds, Ns begin, Ns end) {
  std::vector<TimeSpan> spans;
  for (const NodeSpan& span : history) spans.push_back({span.begin, span.end});
  for (const NodeHold& hold : holds) spans.push_back({std::max(begin, hold.begin), std::min(end, hold.end)});
  std::sort(spans.begin(), spans.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  Ns sum = 0;
  Ns at = begin;
  for (const TimeSpan& span : spans) {
    sum += std::max<Ns>(0, span.end - std::max(at, span.begin));
    at = std::max(at, span.end);
  }
  return sum;
}

// "n1 19675 8: allocated 24 idle 76 [allocated 96 idle 704]"
std::string Tell(const std::vector<NodeDay>& days) {
  std::string story;
  for (const NodeDay& day : days) {
    story += (story.empty() ? "" : " | ") + day.node + " " + std::to_string(day.day) + " " +
             (day.gpus ? std::to_string(*day.gpus) : "?") + ":";
    std::string gpus;
    for (std::size_t i = 0; i < day.time.ns.size(); ++i) {
      const std::string name = " " + std::string(NodeUseName(static_cast<NodeUse>(i))) + " ";
      if (day.time.ns[i] != 0) story += name + std::to_string(day.time.ns[i] / kSecond);
      if (day.time.gpu_ns[i] != 0)
        gpus += name + std::to_string(static_cast<std::int64_t>(day.time.gpu_ns[i] / kSecond));
    }
    if (!gpus.empty()) story += " [" + gpus.substr(1) + "]";
  }
  return story;
}

TEST(NodeDays, ANodeIsAllocatedAsLongAsAnyJobHasIt) {
  RunBuilder run;
  run.Attempt(1).Submitted(0).Started(10).Ready(12).Gpus(2).Ended(50, "COMPLETED");
  RunBuilder other;
  other.Attempt(2).Submitted(0).Started(40).Ready(42).Gpus(0).Ended(60, "COMPLETED");
  NodeHolds holds;
  for (RunBuilder* one : {&run, &other}) {
    const RunFacts facts = OnNodes(*one, "n1");
    holds.Add(BuildTimeline(facts));
  }
  EXPECT_EQ(holds.first(), At(10)) << "a job that waits has no node";
  const NodeEvidence evidence{
      {{"n1", {{At(0), At(80), Condition::kIdle, 8, "a3"}, {At(80), At(100), Condition::kDown, 8, "a3"}}}},
      {}};
  EXPECT_EQ(Tell(CountNodeDays(evidence, holds, At(0), At(100))),
            "n1 19675 8: allocated 50 idle 30 down 20 [allocated 80 idle 560 down 160]");
}

TEST(NodeDays, ANodeThatSlurmKeepsForAJobIsAllocated) {
  RunBuilder run;
  const RunFacts facts = Expedited(run, "expedite", true);
  NodeHolds holds;
  holds.Add(BuildTimeline(facts));
  EXPECT_EQ(Tell(CountNodeDays({OneNodeFails(), {}}, holds, At(0), At(100))),
            "n1 19675 8: allocated 95 idle 5 [allocated 760 idle 40] | "
            "n2 19675 8: allocated 75 idle 5 down 20 [allocated 600 idle 40 down 160]");
}

TEST(NodeDays, AreCutAtMidnight) {
  constexpr double kMidnight = 6'400;
  const NodeEvidence evidence{{{"n1", {{At(6'300), At(kMidnight + 90'000), Condition::kDrained, 4, "a3"}}}},
                              {}};
  EXPECT_EQ(Tell(CountNodeDays(evidence, {}, At(0), At(200'000))),
            "n1 19675 4: drained 100 [drained 400] | n1 19676 4: drained 86400 [drained 345600] | "
            "n1 19677 4: drained 3600 [drained 14400]");
}

TEST(NodeDays, BeforeTheFirstWatchOnlyWhatAccountingSaysIsKnown) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(12).Gpus(8).Ended(50, "COMPLETED");
  const RunFacts facts = OnNodes(run, "n[1-2]");
  NodeHolds holds;
  holds.Add(BuildTimeline(facts));
  const NodeEvidence evidence{
      {{"n1", {{At(100), At(120), Condition::kUnknown, 8, "a3"}}}},
      {{"n1", {{At(45), At(70), Condition::kDown}, {At(60), At(75), Condition::kDrained}}}}};
  EXPECT_EQ(Tell(CountNodeDays(evidence, holds, At(0), At(200))),
            "n1 19675 8: allocated 40 down 20 drained 5 unknown 20 [unknown 160] | n2 19675 ?: allocated 40")
      << "a job held it until 50, and nobody knows of 0 to 10, nor with how many GPUs";
}

// For any nodes and jobs, every GPU-nanosecond is in exactly one part.
TEST(Fleet, ThePartitionIsExactForAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto upto = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    // Every other one is at midnight.
    const Ns begin = kRunBegan + static_cast<Ns>(seed % 2) * 6'000 * kSecond + upto(1000) * 1'000'003;
    const Ns end = begin + 1 + upto(1'000'000) * 1'000'003;
    const auto moment = [&] { return begin - 1'000'000'000'000 + upto(3'000'000) * 1'000'003; };
    std::map<std::string, NodeHistory> nodes;
    GpuNs expected = 0;
    for (int n = 1; n <= 6; ++n) {
      std::vector<NodeWord> words;
      for (std::int64_t i = upto(8); i >= 0; --i) {
        NodeWord word = Word(0, static_cast<Condition>(upto(5)), upto(9));
        word.t = moment();
        word.gone = upto(6) == 0;
        if (upto(2) == 0) word.since = moment();
        word.partitions = upto(2) == 0 ? "a3" : "a3,high";
        words.push_back(word);
      }
      std::sort(words.begin(), words.end(), [](const NodeWord& a, const NodeWord& b) { return a.t < b.t; });
      std::vector<Ns> looks;
      for (std::int64_t i = 2 * upto(4); i > 0; --i) looks.push_back(moment());
      std::sort(looks.begin(), looks.end());
      std::vector<TimeSpan> watched;
      for (std::size_t i = 0; i + 1 < looks.size(); i += 2) watched.push_back({looks[i], looks[i + 1]});
      std::vector<KnownOutage> outages;
      for (std::int64_t i = upto(3); i > 0; --i) {
        const Ns from = moment();
        outages.push_back({from, from + upto(500'000) * 1'000'003, Condition::kDown});
      }
      std::sort(outages.begin(), outages.end(),
                [](const KnownOutage& a, const KnownOutage& b) { return a.begin < b.begin; });
      NodeHistory history = HistoryOf(words, watched, outages, begin, end);
      Ns last = begin;
      for (const NodeSpan& span : history) {
        ASSERT_LE(last, span.begin) << "seed " << seed;
        ASSERT_LT(span.begin, span.end) << "seed " << seed;
        ASSERT_LE(span.end, end) << "seed " << seed;
        last = span.end;
        expected += static_cast<GpuNs>(span.gpus) * (span.end - span.begin);
      }
      nodes["n" + std::to_string(n)] = std::move(history);
    }
    Fleet fleet(nodes, begin, end);
    NodeHolds holds;
    GpuNs held = 0;
    std::deque<RunFacts> facts;
    for (int r = 0; r < 8; ++r) {
      RunFacts run;
      run.now = end;
      run.sources = {"n1/boot.jsonl"};
      AttemptFacts attempt;
      attempt.job_id = r + 1;
      attempt.submit = moment();
      attempt.start = attempt.submit + upto(100'000) * 1'000'003;
      attempt.end = *attempt.start + upto(900'000) * 1'000'003;
      attempt.state = "COMPLETED";
      attempt.gpus = static_cast<int>(upto(40));
      attempt.node_list = "n[" + std::to_string(1 + upto(4)) + "-" + std::to_string(4 + upto(5)) + "]";
      if (upto(3) == 0)
        attempt.resizes = {
            {*attempt.start + (*attempt.end - *attempt.start) / 3, static_cast<int>(upto(64))}};
      if (upto(2) == 0) attempt.spares = upto(5);
      for (std::int64_t i = upto(5); i > 0; --i)
        attempt.worlds.push_back({moment(), 1 + upto(40), std::nullopt, upto(9), std::nullopt, {0, i}});
      run.attempts = {attempt};
      facts.push_back(std::move(run));
      const Timeline timeline = BuildTimeline(facts.back());
      const GpuWeights weights(timeline);
      if (attempt.gpus > 0 || !attempt.resizes.empty()) {
        const Ns from = std::clamp(*attempt.start, begin, end);
        const Ns to = std::clamp(*attempt.end, begin, end);
        Ns at = from;
        for (const Resize& resize : attempt.resizes) {
          const Ns until = std::clamp(resize.t, from, to);
          held += static_cast<GpuNs>(resize.gpus_before) * (until - at);
          at = until;
        }
        held += static_cast<GpuNs>(attempt.gpus) * (to - at);
      }
      holds.Add(timeline);
      fleet.Add(timeline, upto(2) == 0 ? std::optional<double>(0.5) : std::nullopt);
    }
    for (const bool by_partition : {false, true}) {
      const FleetCount count = fleet.Count(by_partition);
      GpuNs all = 0;
      GpuNs in_rows = 0;
      for (const FleetRow& row : count.rows) {
        all += row.capacity() + Unheld(row, Condition::kOff);
        in_rows += row.held_sum();
        for (const GpuNs part : row.held) EXPECT_GE(part, 0) << "seed " << seed;
        for (const GpuNs part : row.unheld) EXPECT_GE(part, 0) << "seed " << seed;
      }
      EXPECT_TRUE(all == expected) << "seed " << seed;
      EXPECT_TRUE(count.total.held_sum() == in_rows) << "seed " << seed;
      EXPECT_TRUE(in_rows + count.unplaced == held)
          << "seed " << seed << ": what jobs held is all accounted for";
    }
    ExpectSameDays(CountNodeDays({nodes, {}}, holds, begin, end), fleet.Count(false).total, seed);
    const Ns middle = begin + upto(end - begin);
    std::vector<NodeDay> parts = CountNodeDays({nodes, {}}, holds, begin, middle);
    for (const NodeDay& day : CountNodeDays({nodes, {}}, holds, middle, end)) parts.push_back(day);
    ExpectSameDays(parts, fleet.Count(false).total, seed);
    for (const auto& [name, history] : nodes)
      EXPECT_EQ(TimeOf(parts, name), Covered(history, holds.Within(begin, end)[name], begin, end)) << seed;
  }
}

// ---- from the database ----

class LoadFleetTest : public testing::Test {
 protected:
  LoadFleetTest() {
    Spool::Config config;
    config.root = folder_.path() + "/spool";
    config.node = "@controller";
    EXPECT_EQ(spool_.Open(config), "");
  }
  void Watch(double s, const char* edge) {
    const Stamp stamp{At(s), At(s) - kRunBegan, "@controller", 1};
    RecordBuilder record(kind::kWatch, stamp);
    record.Text(key::kCluster, "c1");
    record.Text(key::kEdge, edge);
    EXPECT_EQ(spool_.Write(record.Finish()), Append::kWritten);
  }
  void Node(double s, const std::string& name, const std::string& state, const std::string& features = "") {
    const Stamp stamp{At(s), At(s) - kRunBegan, "@controller", 1};
    RecordBuilder record(kind::kNodeState, stamp);
    record.Text(key::kCluster, "c1");
    record.Text(key::kNodeName, name);
    record.Text(key::kState, state);
    record.Int(key::kGpus, 8);
    if (!features.empty()) record.Text(key::kFeatures, features);
    EXPECT_EQ(spool_.Write(record.Finish()), Append::kWritten);
  }
  Database Db() {
    absl::StatusOr<Database> db = Database::Open(folder_.path() + "/db", Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok());
    EXPECT_TRUE(IngestSpool(*db, folder_.path() + "/spool", {}).ok());
    return *std::move(db);
  }

  TempFolder folder_;
  Spool spool_;
};

TEST_F(LoadFleetTest, AWatchThatWasKilledLookedUntilItsLastWord) {
  Watch(0, "begin");
  Node(0, "n1", "IDLE");
  Watch(50, "still");
  Node(60, "n1", "DOWN");  // then the daemon was killed
  Watch(100, "begin");
  Node(100, "n1", "IDLE", "spot");
  Watch(140, "end");
  Database db = Db();
  const auto fleet = LoadFleetNodes(db, "c1", At(0), At(200));
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_EQ(Tell(fleet->nodes.at("n1")), "idle 0-50 | unknown 50-100 | idle 100-140 | unknown 140-200");
  EXPECT_EQ(fleet->watched, 90 * kSecond);
  EXPECT_EQ(fleet->watched_until, At(140));
  // A later window needs nothing from before the last `begin`.
  const auto later = LoadFleetNodes(db, "c1", At(120), At(130));
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(Tell(later->nodes.at("n1")), "idle 120-130");
  const auto features = LoadNodeFeatures(db, "c1");
  ASSERT_TRUE(features.ok());
  EXPECT_EQ(features->at("n1"), "spot");
  const auto clusters = WatchedClusters(db);
  ASSERT_TRUE(clusters.ok());
  EXPECT_EQ(*clusters, std::vector<std::string>{"c1"});
}

TEST_F(LoadFleetTest, WithoutAWatchThereIsNoFleet) {
  Watch(0, "begin");
  Database db = Db();
  EXPECT_TRUE(absl::IsNotFound(LoadFleetNodes(db, "another", At(0), At(10)).status()));
  EXPECT_TRUE(absl::IsNotFound(LoadFleetNodes(db, "c1", At(-20), At(-10)).status()));
}

class LoadNodeDaysTest : public LoadFleetTest {
 protected:
  static std::string Days(Database& db, double now) {
    const auto time = TimeOfNodeDays(db, "c1", {}, At(now));
    EXPECT_TRUE(time.ok()) << time.status();
    const auto days = LoadNodeDays(db, "c1", {}, *time, time->begin, time->end);
    EXPECT_TRUE(days.ok()) << days.status();
    return Tell(*days);
  }
};

TEST_F(LoadNodeDaysTest, FromTheFirstWatchToTheLastLook) {
  Watch(0, "begin");
  Node(0, "n1", "IDLE");
  Watch(60, "still");
  Watch(100'000, "begin");
  Node(100'000, "n1", "DOWN");
  Watch(100'500, "still");
  Database db = Db();
  EXPECT_EQ(Days(db, 100'700),
            "n1 19675 8: idle 60 unknown 6340 [idle 480 unknown 50720] | "
            "n1 19676 8: unknown 86400 [unknown 691200] | "
            "n1 19677 8: down 500 unknown 7200 [down 4000 unknown 57600]");
  // Nobody looked for a while.
  EXPECT_EQ(Days(db, 110'500).substr(Days(db, 110'500).rfind("n1")),
            "n1 19677 8: down 500 unknown 17200 [down 4000 unknown 137600]");
}

TEST_F(LoadNodeDaysTest, OutagesOfSlurmdbdCountBeforeTheFirstWatch) {
  Watch(1000, "begin");
  Node(1000, "n1", "IDLE");
  Watch(1100, "still");
  Database db = Db();
  ASSERT_TRUE(StoreOutages(db, {{"c1", "n1", "DOWN", 1'700'000'000 - 50, 1'700'000'020, "Xid 79"},
                                {"c1", "n2", "DRAIN", 1'700'000'900, std::nullopt, "sold"}})
                  .ok());
  EXPECT_EQ(Days(db, 1200), "n1 19675 8: idle 100 down 70 [idle 800] | n2 19675 ?: drained 100")
      << "slurmdbd never ends the outage of a node that was removed";
}

TEST_F(LoadNodeDaysTest, MonthsAreLoadedOneAfterTheOther) {
  Watch(0, "begin");
  Node(0, "n1", "IDLE");
  constexpr double kLong = 100 * 86'400;
  Watch(kLong, "still");
  Database db = Db();
  const std::string days = Days(db, kLong);
  EXPECT_EQ(std::count(days.begin(), days.end(), '|'), 100);
  EXPECT_EQ(days.find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace goodput
