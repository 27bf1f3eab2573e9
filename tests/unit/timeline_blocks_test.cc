// A block of steps gives the same timeline as its marks: long random runs are built both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/any_run.h"
#include "tests/unit/cases.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/clip.h"

namespace goodput {
namespace {

class TestReader : public StepReader {
 public:
  std::vector<StepMark> Read(const StepBlock& block) const override {
    ++reads;
    const auto found = marks.find(block.key);
    return found == marks.end() ? std::vector<StepMark>{} : found->second;
  }
  std::map<std::int64_t, std::vector<StepMark>> marks;
  mutable int reads = 0;
};

// The marks as a block, which the reader then has.
StepBlock BlockOf(std::vector<StepMark> marks, std::int64_t key, TestReader& reader) {
  StepBlock block;
  block.first = marks.front();
  block.last = marks.back();
  block.key = key;
  for (std::size_t i = 1; i < marks.size(); ++i) block.durations.Add(marks[i].t - marks[i - 1].t);
  reader.marks[key] = std::move(marks);
  return block;
}

AttemptFacts RunningAttempt() {
  AttemptFacts attempt;
  attempt.job_id = 1;
  attempt.submit = kRunBegan;
  attempt.start = kRunBegan;
  attempt.state = "RUNNING";
  return attempt;
}

class LongRun {
 public:
  explicit LongRun(std::uint64_t seed) : random_(seed) {
    facts.sources = {"n1/a.jsonl", {"log", Evidence::kLog}};
    facts.now = kRunBegan + Ns{10'000'000} * kSecond;
    Ns t = kRunBegan;
    std::int64_t step = Pick(0, 5);
    const std::int64_t attempts = Pick(1, 3);
    for (std::int64_t i = 0; i < attempts; ++i) Attempt(i + 1 == attempts, t, step);
  }

  // The same run with its regular intervals in blocks.
  RunFacts InBlocks() {
    RunFacts blocked = facts;
    reader = std::make_shared<TestReader>();
    blocked.step_reader = reader;
    for (AttemptFacts& attempt : blocked.attempts) {
      std::vector<StepMark> marks;
      std::swap(marks, attempt.step_marks);
      std::vector<StepMark> open;
      for (const StepMark& mark : marks) {
        const bool even =
            open.empty() || (mark.t > open.back().t && mark.train_step > open.back().train_step &&
                             mark.task == open.back().task &&
                             (open.size() < 2 || mark.train_step - open.back().train_step ==
                                                     open[1].train_step - open[0].train_step));
        if (!even || OneIn(700)) Close(open, attempt);
        open.push_back(mark);
      }
      Close(open, attempt);
    }
    return WithSavesInBlocks(std::move(blocked));
  }

  RunFacts facts;
  std::shared_ptr<TestReader> reader;

 private:
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool OneIn(int n) { return Pick(1, n) == 1; }

  void Close(std::vector<StepMark>& open, AttemptFacts& attempt) {
    if (open.size() < 3 || OneIn(10)) {
      attempt.step_marks.insert(attempt.step_marks.end(), open.begin(), open.end());
    } else {
      StepBlock block;
      block.first = open.front();
      block.last = open.back();
      block.stride = open[1].train_step - open[0].train_step;
      block.key = ++keys_;
      DurationHistogram durations;
      for (std::size_t i = 1; i < open.size(); ++i) durations.Add((open[i].t - open[i - 1].t) / block.stride);
      EXPECT_TRUE(block.durations.AddEncoded(durations.Encode())) << "as the database has it";
      reader->marks[block.key] = open;
      attempt.step_blocks.push_back(block);
    }
    open.clear();
  }

  void Say(AttemptFacts& attempt, Mark::Kind kind, bool begin, Ns t, std::optional<std::int64_t> step) {
    const char* name = kind == Mark::Kind::kPhase ? "evaluation" : "";
    attempt.marks.push_back({t, kind, begin, step, name, 0, 0, {0, next_offset_ += 100}});
  }

  // Either as a mark or as a file on disk.
  void SayCheckpoint(AttemptFacts& attempt, bool files, bool begin, Ns t, std::int64_t step) {
    if (!files) return Say(attempt, Mark::Kind::kCheckpoint, begin, t, step);
    attempt.checkpoint_files.push_back(
        {t, begin, "iter_" + std::to_string(step), "megatron", step, {0, next_offset_ += 100}});
  }

  void Attempt(bool last, Ns& t, std::int64_t& step) {
    AttemptFacts attempt;
    attempt.job_id = 7;
    attempt.submit = t;
    attempt.start = t += Pick(0, 100) * kSecond;
    attempt.gpus = 8;
    const std::int64_t stride = OneIn(3) ? 10 : 1;
    const std::int64_t starts = OneIn(3) ? 2 : 1;
    const int saves_every = static_cast<int>(Pick(1, OneIn(4) ? 20 : 4000));
    const bool two_ranks = OneIn(4);
    const bool files = OneIn(3);
    const Ns usual = Pick(1, 3) == 1 ? Pick(1'000, 900'000) : Pick(50'000'000, 3'000'000'000);
    for (std::int64_t start = 0; start < starts; ++start) {
      t += Pick(1, 20) * kSecond;
      if (start > 0) step = std::max<std::int64_t>(0, step - Pick(0, 3000));
      const std::int64_t records = Pick(1, 9000);
      for (std::int64_t i = 0; i < records; ++i, step += stride) {
        attempt.step_marks.push_back({t, step, 0, 0, {static_cast<int>(start), next_offset_ += 100}});
        if (two_ranks && i % 5000 < 40) {
          attempt.step_marks.push_back({t + usual / 3, step, 0, 1, {0, next_offset_ += 100}});
        }
        if (i == 0) t += usual * 3;
        t += (usual + Pick(0, usual / 20 + 1)) * stride;
        if (OneIn(saves_every)) {
          SayCheckpoint(attempt, files, true, t, step);
          t += Pick(0, 5) * kSecond;
          if (!OneIn(saves_every < 20 ? 500 : 5)) SayCheckpoint(attempt, files, false, t, step);
          // Unless the next step begins at once.
          if (!OneIn(4)) t += usual / 4;
        }
        if (OneIn(3000)) {
          Say(attempt, Mark::Kind::kPhase, true, t, {});
          t += Pick(0, 50) * kSecond;
          Say(attempt, Mark::Kind::kPhase, false, t, {});
        }
        if (OneIn(4000)) t += usual * 30 * stride + Pick(0, 40) * kSecond;
      }
    }
    if (OneIn(3)) attempt.suspended.push_back({t - 100 * kSecond, t - 50 * kSecond, true});
    if (!last || !OneIn(3)) attempt.end = t;
    attempt.state = !attempt.end ? "RUNNING" : !last ? "NODE_FAIL" : OneIn(2) ? "COMPLETED" : "FAILED";
    if (!attempt.end) facts.now = t + Pick(0, 1000) * kSecond;
    if (!last) step = std::max<std::int64_t>(0, step - Pick(-5, 6000));
    facts.attempts.push_back(std::move(attempt));
  }

  std::mt19937_64 random_;
  std::int64_t next_offset_ = 0;
  std::int64_t keys_ = 0;
};

std::string Told(const Timeline& timeline) {
  std::ostringstream out;
  for (const Interval& i : timeline.intervals) {
    out << BucketName(i.bucket) << "." << i.part << " " << i.begin << "-" << i.end << " "
        << EvidenceName(i.evidence) << " " << i.from.source << ":" << i.from.offset << " " << i.to.source
        << ":" << i.to.offset << " " << i.why << "\n";
  }
  const StepCounts& steps = timeline.steps;
  out << "steps " << steps.executed << " " << steps.kept << " " << steps.lost << " " << steps.at_risk << " "
      << steps.median.value_or(-1) << " " << steps.first_step_excess << "\n";
  for (const Incarnation& i : timeline.incarnations) {
    out << "incarnation " << i.first_step.value_or(-1) << "-" << i.last_step.value_or(-1) << " "
        << i.kept_step.value_or(-1) << " " << i.begin << " " << i.end << " " << i.last_progress.value_or(-1)
        << "\n";
  }
  for (const Checkpoint& c : timeline.checkpoints)
    out << "checkpoint " << c.step.value_or(-1) << " " << c.begin << " " << c.complete.value_or(-1) << "\n";
  for (const Interruption& i : timeline.interruptions) {
    out << "interruption " << i.time << " " << i.cause << " " << i.t_ch.value_or(-1) << " "
        << i.t_detect.value_or(-1) << " " << i.t_re.value_or(-1) << " " << i.t_rm.value_or(-1) << "\n";
  }
  return out.str();
}

std::string FirstDifference(const std::string& a, const std::string& b) {
  std::istringstream lines_a(a);
  std::istringstream lines_b(b);
  std::string line_a;
  std::string line_b;
  while (std::getline(lines_a, line_a) && std::getline(lines_b, line_b)) {
    if (line_a != line_b) return "marks:  " + line_a + "\nblocks: " + line_b;
  }
  return "one is longer";
}

void ExpectSameStarts(const Pace& marks, const Pace& blocks, std::uint64_t seed) {
  ASSERT_EQ(marks.starts.size(), blocks.starts.size());
  for (std::size_t i = 0; i < marks.starts.size(); ++i) {
    EXPECT_EQ(marks.starts[i].kept, blocks.starts[i].kept) << "seed " << seed;
    if (marks.starts[i].steps_are_packed || blocks.starts[i].steps_are_packed) continue;
    // The best step is right to 0.05 %.
    const auto after = static_cast<double>(marks.starts[i].after_checkpoint);
    EXPECT_NEAR(after, static_cast<double>(blocks.starts[i].after_checkpoint), 0.02 * after + 1e6)
        << "seed " << seed;
  }
}

TEST(Blocks, SayTheSameAsTheirMarks) {
  int expanded = 0;
  int blocks = 0;
  for (std::uint64_t seed = 1; seed <= Cases(100); ++seed) {
    LongRun run(seed);
    const RunFacts blocked = run.InBlocks();
    for (const AttemptFacts& attempt : blocked.attempts)
      blocks += static_cast<int>(attempt.step_blocks.size());
    for (const double stall_factor : {5.0, 2.0}) {
      const Timeline of_marks = BuildTimeline(run.facts, {stall_factor});
      const Timeline of_blocks = BuildTimeline(blocked, {stall_factor});
      const std::string by_marks = Told(of_marks);
      const std::string by_blocks = Told(of_blocks);
      // Of many durations, quantiles are right to 0.05 %.
      ASSERT_EQ(of_marks.pace.has_value(), of_blocks.pace.has_value()) << "seed " << seed;
      if (of_marks.pace) {
        const auto near = [](Ns value) { return static_cast<double>(value) / 1000; };
        EXPECT_NEAR(of_marks.pace->best, of_blocks.pace->best, near(of_marks.pace->best)) << "seed " << seed;
        EXPECT_NEAR(of_marks.pace->p05, of_blocks.pace->p05, near(of_marks.pace->p05)) << "seed " << seed;
        ExpectSameStarts(*of_marks.pace, *of_blocks.pace, seed);
      }
      ASSERT_EQ(by_marks == by_blocks, true) << "seed " << seed << "\n"
                                             << FirstDifference(by_marks, by_blocks);
    }
    expanded += run.reader->reads;
  }
  EXPECT_GT(blocks, static_cast<int>(Cases(100) * 7));
  // For two timelines, each reading marks, files and stalls, many blocks must never have been read.
  EXPECT_LT(expanded, blocks * 2) << "blocks are of no use";
}

// Tokens of an elastic run: also where the world changes within a block.
TEST(Blocks, KeepTheSameTokensAsTheirMarks) {
  int known = 0;
  for (std::uint64_t seed = 1; seed <= Cases(100); ++seed) {
    LongRun run(seed);
    std::mt19937_64 random(seed);
    for (AttemptFacts& attempt : run.facts.attempts) {
      const Ns end = attempt.end.value_or(run.facts.now);
      for (int i = 0; i < 4; ++i) {
        WorldMark mark;
        mark.t = i == 0 ? attempt.submit : std::uniform_int_distribution<Ns>(attempt.submit, end)(random);
        mark.stepping = 8 - i;
        mark.tokens = 1000 * (8 - i);
        attempt.worlds.push_back(mark);
      }
    }
    const std::optional<double> by_marks = BuildTimeline(run.facts).steps.kept_tokens;
    const std::optional<double> in_blocks = BuildTimeline(run.InBlocks()).steps.kept_tokens;
    EXPECT_EQ(by_marks, in_blocks) << "seed " << seed;
    if (by_marks) ++known;
  }
  EXPECT_GT(known, static_cast<int>(Cases(100) / 2));
}

// The next attempt resumes at the step after one with an evaluation, at which a part begins.
TEST(Blocks, SavesAfterTheFirstLostStepAreNotKept) {
  const auto facts = [](bool in_blocks) {
    RunFacts facts;
    facts.now = At(20'000);
    auto reader = std::make_shared<TestReader>();
    facts.step_reader = reader;
    AttemptFacts attempt = RunningAttempt();
    attempt.end = At(9010.9);
    attempt.state = "NODE_FAIL";
    std::vector<StepMark> marks;
    std::int64_t offset = 0;
    SavePairs pairs;
    const auto mark = [&](Mark::Kind kind, bool begin, double t, std::int64_t step) {
      const char* name = kind == Mark::Kind::kPhase ? "evaluation" : "";
      const Mark said{At(t), kind, begin, step, name, 0, 0, {0, offset += 10}};
      if (in_blocks) return pairs.Add(said, attempt);
      attempt.marks.push_back(said);
    };
    for (int step = 0; step <= 9000; ++step) {
      marks.push_back({At(10 + step), step, 0, 0, {0, offset += 10}});
      if (step == 100) mark(Mark::Kind::kPhase, true, 10.2 + step, step);
      if (step == 100) mark(Mark::Kind::kPhase, false, 10.4 + step, step);
      if (step % 10 == 0) mark(Mark::Kind::kCheckpoint, true, 10.7 + step, step);
      if (step % 10 == 0) mark(Mark::Kind::kCheckpoint, false, 10.8 + step, step);
    }
    pairs.Finish();
    if (in_blocks) {
      // The first block of a start is never whole.
      attempt.step_marks.assign(marks.begin(), marks.begin() + 10);
      marks.erase(marks.begin(), marks.begin() + 10);
      attempt.step_blocks.push_back(BlockOf(marks, 0, *reader));
    } else {
      attempt.step_marks = marks;
    }
    facts.attempts.push_back(attempt);
    AttemptFacts next = RunningAttempt();
    next.submit = At(9100);
    next.start = At(9100);
    for (int step = 101; step < 110; ++step)
      next.step_marks.push_back({At(9050 + step), step, 0, 0, {0, offset += 10}});
    facts.attempts.push_back(next);
    return facts;
  };
  const RunFacts in_blocks = facts(true);
  ASSERT_EQ(in_blocks.attempts[0].save_blocks.size(), 1U);
  const Timeline of_blocks = BuildTimeline(in_blocks);
  EXPECT_EQ(Told(of_blocks), Told(BuildTimeline(facts(false))));
  ASSERT_EQ(of_blocks.interruptions.size(), 1U);
  EXPECT_GT(of_blocks.interruptions[0].t_ch.value_or(0), 8899 * kSecond) << "since the save in step 100";
}

// Ten times as long as most steps, and each far below a second.
TEST(Blocks, OfSlowerStepsAreNotStalled) {
  RunFacts facts;
  auto reader = std::make_shared<TestReader>();
  facts.step_reader = reader;
  AttemptFacts attempt = RunningAttempt();
  std::int64_t step = 0;
  Ns t = At(10);
  for (const int slower : {1, 1, 10}) {
    const Ns usual = kSecond / 1000 * slower;
    std::vector<StepMark> marks;
    for (int i = 0; i < 4096; ++i, ++step, t += usual) marks.push_back({t, step, 0, 0, {0, step}});
    attempt.step_blocks.push_back(BlockOf(std::move(marks), step, *reader));
  }
  facts.now = t;
  facts.attempts.push_back(attempt);
  const Timeline timeline = BuildTimeline(facts);
  EXPECT_LT(timeline.steps.median.value_or(kSecond), kSecond / 500);
  EXPECT_TRUE(timeline.stalls.empty());
  for (const Interval& interval : timeline.intervals) EXPECT_NE(interval.bucket, Bucket::kStall);
}

TEST(Blocks, OfAnEvenRunOnlyTheFirstIsRead) {
  RunFacts facts;
  facts.now = kRunBegan + Ns{10'000'000} * kSecond;
  auto reader = std::make_shared<TestReader>();
  facts.step_reader = reader;
  AttemptFacts attempt = RunningAttempt();
  std::int64_t step = 0;
  for (int b = 0; b < 20; ++b) {
    std::vector<StepMark> marks;
    for (int i = 0; i < 4096; ++i, ++step)
      marks.push_back({At(static_cast<double>(10 + step)), step, 0, 0, {0, step}});
    attempt.step_blocks.push_back(BlockOf(std::move(marks), b, *reader));
  }
  facts.now = At(static_cast<double>(10 + step));
  facts.attempts.push_back(attempt);
  const Timeline timeline = BuildTimeline(facts);
  EXPECT_EQ(timeline.steps.executed, 20 * 4096);
  EXPECT_EQ(timeline.steps.at_risk, 20 * 4096);
  EXPECT_EQ(RunBuilder::Tell(timeline), "unobserved.allocated 0-10 | at_risk 10-81930");
  EXPECT_LE(reader->reads, 2) << "the first is read for the first step, the others are never";
}

// A damaged database must not prevent the report.
TEST(Blocks, ThatCannotBeReadAnyMoreAreTakenByTheirEnds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LongRun run(seed);
    const RunFacts blocked = run.InBlocks();
    run.reader->marks.clear();
    const Timeline timeline = BuildTimeline(blocked);
    Ns at = timeline.begin;
    for (const Interval& interval : timeline.intervals) {
      EXPECT_EQ(interval.begin, at);
      at = interval.end;
    }
    EXPECT_EQ(at, timeline.end);
  }
}

}  // namespace
}  // namespace goodput
