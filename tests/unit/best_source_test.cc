// If several sources report the same fact, the best source is used.
#include "tools/accounting/runs/best_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

const std::vector<EvidenceSource>& Sources() {
  static const std::vector<EvidenceSource> kSources = [] {
    std::vector<EvidenceSource> sources{EvidenceSource("n1/marks"),
                                        EvidenceSource("n1/x.log.jsonl", Evidence::kLog),
                                        EvidenceSource("@import/log", Evidence::kLog)};
    sources[2].imported = true;
    return sources;
  }();
  return kSources;
}
constexpr std::int32_t kMarks = 0;
constexpr std::int32_t kOutput = 1;
constexpr std::int32_t kImport = 2;

void AddStep(AttemptFacts& attempt, std::int32_t source) {
  StepMark mark;
  mark.train_step = source;
  mark.ref.source = source;
  attempt.step_marks.push_back(mark);
  StepBlock block;
  block.first = block.last = mark;
  attempt.step_blocks.push_back(block);
}

void AddMark(AttemptFacts& attempt, Mark::Kind kind, std::int32_t source, const std::string& name = "") {
  Mark mark;
  mark.kind = kind;
  mark.name = name;
  mark.ref.source = source;
  attempt.marks.push_back(mark);
}

std::vector<std::int32_t> SourcesOf(const std::vector<Mark>& marks) {
  std::vector<std::int32_t> sources;
  for (const Mark& mark : marks) sources.push_back(mark.ref.source);
  return sources;
}

using Numbers = std::vector<std::int32_t>;

TEST(BestSource, MarksBeatImportsAndTheseWhatWasFollowed) {
  for (const auto& [said, best] : std::vector<std::pair<Numbers, std::int32_t>>{
           {{kOutput, kMarks, kImport}, kMarks}, {{kOutput, kImport}, kImport}, {{kOutput}, kOutput}}) {
    AttemptFacts attempt;
    for (const std::int32_t source : said) AddStep(attempt, source);
    for (const std::int32_t source : said) AddMark(attempt, Mark::Kind::kCheckpoint, source);
    for (const std::int32_t source : said) AddMark(attempt, Mark::Kind::kStepEnd, source);
    AddMark(attempt, Mark::Kind::kStepFailed, said.back());  // that source alone says so
    TakeBestSource(Sources(), attempt);
    ASSERT_EQ(attempt.step_marks.size(), 1U);
    ASSERT_EQ(attempt.step_blocks.size(), 1U);
    EXPECT_EQ(attempt.step_marks[0].ref.source, best);
    EXPECT_EQ(attempt.step_blocks[0].first.ref.source, best);
    const bool kept = said.back() == best;
    EXPECT_EQ(SourcesOf(attempt.marks), (kept ? Numbers{best, best, best} : Numbers{best, best}))
        << "a failure belongs to the steps of its source";
  }
}

TEST(BestSource, IsTheBestWhicheverWasReadLast) {
  AttemptFacts attempt;
  for (const std::int32_t source : {kMarks, kOutput}) AddStep(attempt, source);
  attempt.step_blocks.clear();
  TakeBestSource(Sources(), attempt);
  ASSERT_EQ(attempt.step_marks.size(), 1U);
  EXPECT_EQ(attempt.step_marks[0].ref.source, kMarks);
}

TEST(BestSource, OfEachKindAndPhaseByItself) {
  AttemptFacts attempt;
  AddStep(attempt, kOutput);
  AddMark(attempt, Mark::Kind::kCheckpoint, kMarks);
  AddMark(attempt, Mark::Kind::kCheckpoint, kOutput);
  AddMark(attempt, Mark::Kind::kRestore, kOutput);
  AddMark(attempt, Mark::Kind::kPhase, kMarks, "init");
  AddMark(attempt, Mark::Kind::kPhase, kOutput, "evaluation");
  AddMark(attempt, Mark::Kind::kPhase, kOutput, std::string(kBetweenSteps));
  TakeBestSource(Sources(), attempt);
  EXPECT_EQ(attempt.step_marks.size(), 1U);
  EXPECT_EQ(SourcesOf(attempt.marks), (Numbers{kMarks, kOutput, kMarks, kOutput, kOutput}));
}

TEST(BestSource, WhatALogInfersFromItsStepsGoesWithThem) {
  AttemptFacts attempt;
  AddStep(attempt, kMarks);
  AddStep(attempt, kOutput);
  AddMark(attempt, Mark::Kind::kPhase, kOutput, std::string(kBetweenSteps));
  TakeBestSource(Sources(), attempt);
  EXPECT_EQ(attempt.step_marks.size(), 1U);
  EXPECT_TRUE(attempt.marks.empty());
}

}  // namespace
}  // namespace goodput
