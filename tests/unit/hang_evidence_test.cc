// What was found out about a stall, in words.
#include "tools/accounting/timeline/hang_evidence.h"

#include <gtest/gtest.h>

#include "tests/unit/run_builder.h"

namespace goodput {
namespace {

HangEvidence Process(const std::string& node, std::int64_t task, double at, const std::string& state,
                     const std::string& wchan, double processor) {
  HangEvidence found;
  found.t = At(at);
  found.node = node;
  found.task = task;
  found.pid = 100 + task;
  found.program = "python3";
  found.state = state;
  found.wchan = wchan;
  found.processor = processor;
  return found;
}

HangEvidence Said(HangEvidence::Source source, const std::string& text, const std::string& problem = "") {
  HangEvidence found;
  found.t = At(60);
  found.source = source;
  found.node = "n1";
  found.text = text;
  found.problem = problem;
  return found;
}

std::vector<std::string> Words(const std::vector<HangEvidence>& evidence) {
  std::vector<const HangEvidence*> found;
  found.reserve(evidence.size());
  for (const HangEvidence& one : evidence) found.push_back(&one);
  return InWords(found);
}

TEST(HangEvidenceTest, BelongsToTheStallDuringWhichItWasFound) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(1).Ready(1).TaskStarts(2, 0).Steps(0, 3, 10, 10);
  run.Last().Step(4, 400).Steps(5, 7, 410, 10).Step(8, 900).Step(9, 910).Ended(920, "COMPLETED");
  run.Last().TaskExits(920, 0, 0);
  run.Last().facts.hang_evidence = {Process("n2", 1, 300, "S", "", 0), Process("n1", 0, 300, "S", "", 0),
                                    Process("n1", 0, 800, "S", "", 0), Process("n1", 0, 405, "S", "", 0.5),
                                    Process("n1", 0, 950, "S", "", 0)};
  const Timeline& timeline = run.Build();
  ASSERT_EQ(timeline.stalls.size(), 2U);
  const auto first = EvidenceOf(timeline, timeline.stalls[0]);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0]->node, "n1");
  EXPECT_EQ(first[1]->t, At(405)) << "a clock that differs by 5 s";
  EXPECT_EQ(first[2]->node, "n2");
  const auto second = EvidenceOf(timeline, timeline.stalls[1]);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0]->t, At(800));
}

TEST(HangEvidenceTest, TasksThatDoTheSameAreOneLineAndTheOddOneIsFirst) {
  EXPECT_EQ(
      Words({Process("n1", 0, 60, "S", "futex_do_wait", 0), Process("n1", 1, 60, "S", "futex_do_wait", 0.1),
             Process("n2", 2, 60, "S", "futex_do_wait", 0), Process("n2", 3, 60, "D", "nfs_wait", 0),
             Process("n2", 5, 60, "S", "futex_do_wait", 0)}),
      (std::vector<std::string>{
          "n2, task 3: python3 waits in the kernel and cannot be interrupted in nfs_wait",
          "n1,n2, tasks 0-2,5: python3 sleeps in futex_do_wait"}));
  EXPECT_EQ(Words({Process("n1", 0, 60, "S", "futex_do_wait", 0.99), Process("n1", 0, 60, "R", "", 0.99)}),
            (std::vector<std::string>{"n1, task 0: python3 keeps a processor busy (2 processes)"}));
  EXPECT_EQ(Words({Process("n1", 0, 60, "T", "do_signal_stop", 0)}),
            (std::vector<std::string>{"n1, task 0: python3 is stopped"}));
  EXPECT_EQ(Words({Process("n1", 0, 60, "", "", 0)}),
            (std::vector<std::string>{"n1, task 0: python3 could not be read"}));
}

TEST(HangEvidenceTest, TheLastLineOfOutput) {
  using Source = HangEvidence::Source;
  EXPECT_EQ(Words({Said(Source::kOutput, "step 1\nstep 2")}),
            (std::vector<std::string>{"last line of output: step 2"}));
  EXPECT_EQ(Words({Said(Source::kOutput, "", "not everyone may read the file")}),
            (std::vector<std::string>{"last output: not kept, since not everyone may read the file"}));
  EXPECT_EQ(Words({Said(Source::kOutput, std::string(500, 'x'))})[0].size(), 21U + 200 + 3);
}

TEST(HangEvidenceTest, ProgramsAtTheSamePlaceAreOneLineAndTheOddOneIsFirst) {
  const auto at = [](std::int64_t task, const std::string& text) {
    HangEvidence found = Said(HangEvidence::Source::kPySpy, text);
    found.task = task;
    return found;
  };
  EXPECT_EQ(Words({at(0, "MainThread (idle): a\nThread 7 (active): x"), at(1, "MainThread (idle): a"),
                   at(2, "MainThread (idle): load (data.py:9)")}),
            (std::vector<std::string>{"n1, task 2: MainThread (idle): load (data.py:9)",
                                      "n1, tasks 0-1: MainThread (idle): a"}));
  for (const char* name : {"proc", "output", "ras", "py-spy"})
    EXPECT_EQ(HangSourceName(HangSourceOf(name).value()), name);
  EXPECT_FALSE(HangSourceOf("gdb"));
}

TEST(HangEvidenceTest, WhatNcclSaysIsSaidOnce) {
  using Source = HangEvidence::Source;
  EXPECT_EQ(Words({Said(Source::kRas, "rank 3 is behind"), Said(Source::kRas, "rank 3 is behind"),
                   Said(Source::kRas, "", "nobody listens")}),
            (std::vector<std::string>{"NCCL: rank 3 is behind"}));
  EXPECT_EQ(Words({Said(Source::kRas, "", "nobody listens")}),
            (std::vector<std::string>{"NCCL: nobody listens"}));
  EXPECT_EQ(Words({Said(Source::kRas, "1\n2\n3\n4\n5\n6")}).back(), "NCCL: 2 more (--json has them)");
}

}  // namespace
}  // namespace goodput
