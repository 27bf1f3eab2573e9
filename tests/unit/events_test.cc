// What happened to a run that somebody is told of, and that its id does not change.
#include "tools/accounting/live/events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sql/text.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/rollup/rollup.h"

namespace goodput {
namespace {

const EventRun kRunOfEvents{"c", "llm", "eve", "", ""};

// Job 1 trains for 1,000 s on eight GPUs and dies with its node; job 2 goes on.
AttemptBuilder& DiesAndGoesOn(RunBuilder& run) {
  run.Attempt(1).Submitted(10).Gpus(8).Started(20).Ready(30).TaskStarts(40, 0).Steps(1, 10, 100, 100);
  run.Last().Save(5, 550, 560).Ended(1150, "NODE_FAIL");
  run.Last().facts.failed_node = "n1";
  return run.Attempt(2).Submitted(1200).Gpus(8).Started(1300).Ready(1310).TaskStarts(1320, 0).Steps(6, 20,
                                                                                                    1400, 10);
}

AttemptBuilder& TrainsEvent(RunBuilder& run) {
  return run.Attempt(1).Submitted(10).Gpus(8).Started(20).Ready(30).TaskStarts(40, 0).Steps(1, 10, 100, 10);
}

std::optional<Event> StallOf(RunBuilder& run) {
  const Timeline timeline = run.Build();
  return StallEvent(kRunOfEvents, timeline);
}

std::optional<Event> EndOf(RunBuilder& run, const ToldStall& told) {
  const Timeline timeline = run.Build();
  return StallEndEvent(kRunOfEvents, timeline, told);
}

TEST(Events, AnInterruptionCostsWhatReportsByCauseSay) {
  RunBuilder run;
  DiesAndGoesOn(run);
  run.Now(1555);
  const Timeline timeline = run.Build();
  const std::vector<Event> events = InterruptionEvents(kRunOfEvents, timeline);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].cause, "node_fail");
  EXPECT_EQ(events[0].node, "n1");
  EXPECT_EQ(events[0].job_id, 1);
  Rollup rollup(RollupBy::kCause, "", {});
  rollup.Add({}, timeline);
  Ns ns = 0;
  GpuNs gpu_ns = 0;
  for (const RollupRow& row : rollup.Rows()) {
    if (row.group != "node_fail") continue;
    for (const Bucket bucket : kBuckets) {
      ns += row.ns[static_cast<std::size_t>(bucket)];
      gpu_ns += row.gpu_ns[static_cast<std::size_t>(bucket)];
    }
  }
  EXPECT_GT(ns, 400 * kSecond);
  EXPECT_EQ(events[0].lost, ns);
  EXPECT_TRUE(events[0].gpu_lost == gpu_ns);
}

TEST(Events, AnIdStaysWhenMoreIsKnown) {
  RunBuilder run;
  DiesAndGoesOn(run);
  run.Now(1555);
  const std::string id = InterruptionEvents(kRunOfEvents, run.Build())[0].id;
  EXPECT_EQ(id, Cat("interruption/c/1@", At(10) / kSecond, "/1"));
  run.Last().Ended(1560, "NODE_FAIL");
  run.Now(2000);
  const std::vector<Event> events = InterruptionEvents(kRunOfEvents, run.Build());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].id, id);
  EXPECT_EQ(events[1].id, Cat("interruption/c/2@", At(1200) / kSecond, "/1"));
}

TEST(Events, AnEarlierAttemptThatBecomesKnownLaterChangesNoId) {
  const auto requeued = [](bool all) {
    RunBuilder run;
    if (all) run.Attempt(1).Submitted(10).Started(20).Ended(500, "NODE_FAIL");
    run.Attempt(1).Submitted(600).Started(700).Ended(1000, "NODE_FAIL");
    run.Attempt(1).Submitted(1100).Started(1200);
    run.Now(2000);
    return InterruptionEvents(kRunOfEvents, run.Build());
  };
  const std::vector<Event> late = requeued(true);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[1].id, requeued(false)[0].id);
  EXPECT_NE(late[0].id, late[1].id);
}

TEST(Events, EachInterruptionOfAnAttemptHasItsIdAndCost) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt(1).Submitted(0).Started(0);
  for (int i = 0; i < 3; ++i) {
    const double begin = 200 * i;
    attempt.Srun(i, begin, begin + 150, i < 2 ? 1 : 0).In(i).Steps(1, 10, begin + 20, 10);
  }
  attempt.Ended(560, "COMPLETED");
  const std::vector<Event> events = InterruptionEvents(kRunOfEvents, run.Build());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_NE(events[0].id, events[1].id);
  EXPECT_GT(events[0].lost, 0);
  EXPECT_GT(events[1].lost, 0);
}

TEST(Events, AStallIsOneUntilItsEnd) {
  RunBuilder run;
  TrainsEvent(run).LastSeenAlive(300);
  run.Now(300);
  const std::optional<Event> stall = StallOf(run);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->id, Cat("stall/c/1@", At(10) / kSecond, "/", At(190) / kSecond));
  EXPECT_EQ(stall->lost, 110 * kSecond);
  EXPECT_TRUE(stall->gpu_lost == GpuNs{880} * kSecond);
  const ToldStall told{stall->id, 1, stall->time};
  run.Last().LastSeenAlive(500);
  run.Now(500);
  ASSERT_TRUE(StallOf(run));
  EXPECT_EQ(StallOf(run)->id, stall->id);
  EXPECT_FALSE(EndOf(run, told));
  run.Now(900);
  EXPECT_FALSE(StallOf(run)) << "its node is silent";
  EXPECT_FALSE(EndOf(run, told)) << "which does not end the stall";
  run.Last().Steps(11, 12, 700, 10).LastSeenAlive(900);
  const std::optional<Event> end = EndOf(run, told);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->id, Cat("stall_end/c/1@", At(10) / kSecond, "/", At(190) / kSecond));
  EXPECT_EQ(end->time, At(700));
  EXPECT_NE(end->text.find("makes progress again"), std::string::npos);
}

TEST(Events, AStallEndsWithItsProgram) {
  RunBuilder run;
  TrainsEvent(run).LastSeenAlive(300);
  run.Now(300);
  const ToldStall told{StallOf(run)->id, 1, StallOf(run)->time};
  run.Last().TaskKilled(350, 0, 9).Ended(352, "CANCELLED");
  run.Now(400);
  const std::optional<Event> end = EndOf(run, told);
  ASSERT_TRUE(end);
  EXPECT_NE(end->text.find("its program has ended"), std::string::npos);
  EXPECT_FALSE(EndOf(run, {"stall/other/1@5/6", 1, told.since})) << "another run's";
}

}  // namespace
}  // namespace goodput
