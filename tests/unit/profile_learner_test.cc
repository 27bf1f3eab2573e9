// What is inferred from the output of programs that no profile knows, and what is not. The lines are
// invented.
#include "tools/sources/logs/profile_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tools/sources/logs/line_numbers.h"
#include "tools/sources/logs/log_reader.h"
#include "tools/sources/logs/profile.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

std::optional<LearnedProfile> Learned(const Lines& lines) {
  ProfileLearner learner;
  for (const std::string& line : lines) learner.See(line);
  return learner.Learn("ours");
}

// The events that the learned profile finds in the lines: "step_end step=1".
Lines Found(const Lines& lines) {
  const std::optional<LearnedProfile> learned = Learned(lines);
  if (!learned) return {};
  const absl::StatusOr<LogProfile> profile = LogProfile::Parse(learned->text, "ours");
  EXPECT_TRUE(profile.ok()) << profile.status() << "\n" << learned->text;
  Lines found;
  for (const std::string& line : lines) {
    if (const auto event = profile->Match(line))
      found.push_back(Cat(LogEventKindName(event->kind), " ", EventInWords(*event)));
  }
  return found;
}

std::string Format(const char* format, int step, double loss) {
  char text[300];
  (void)std::snprintf(text, sizeof text, format, step, loss);
  return text;
}

// Lines of steps first, first + by, ...
Lines Course(const char* format, int first, int last, int by = 1) {
  Lines lines;
  for (int step = first; step <= last; step += by) lines.push_back(Format(format, step, 9.5 - 0.01 * step));
  return lines;
}

Lines operator+(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(FindNumbers, KnowsNamesTotalsUnitsAndWhatIsNoNumber) {
  const std::string line =
      "2026-01-02 03:04:05 [node17] global step 7/100: loss=-2.5 lr 3e-4 at 0x7f, dt: 120.5ms, took 0:01:23";
  std::string said;
  for (const LineNumber& number : FindNumbers(line)) {
    said +=
        Cat(number.name, number.before.empty() ? "" : Cat("(", number.before, ")"), "=",
            line.substr(number.begin, number.end - number.begin),
            number.of ? Cat("/", *number.of) : std::string(), number.unit, number.integer ? "" : "~", " ");
  }
  EXPECT_EQ(said, "step(global)=7/100 loss=2.5~ lr=3e-4~ dt=120.5ms~ took=0:01:23~ ");
}

TEST(ProfileLearner, FindsANamedCounterAndItsDuration) {
  EXPECT_EQ(Found(Course("update %d of the model, loss %.3f, 250.5 ms", 3, 5)),
            (Lines{"step_end step=3 step_s=0.2505", "step_end step=4 step_s=0.2505",
                   "step_end step=5 step_s=0.2505"}));
  const Lines json = Course(R"({"iteration": %d, "train": {"loss": %.4f}, "lr": 0.1})", 10, 30, 10);
  EXPECT_EQ(Found(json), (Lines{"step_end step=10", "step_end step=20", "step_end step=30"}));
}

TEST(ProfileLearner, CountsFromZeroIfItSeesTheZero) {
  EXPECT_EQ(Found(Course("it=%d loss=%.2f", 0, 2)),
            (Lines{"step_end step=1", "step_end step=2", "step_end step=3"}));
}

TEST(ProfileLearner, TakesTheTotalAndTheTime) {
  EXPECT_EQ(Found(Course("2026-01-02 03:04:05,678 train step %d/500 | loss %.2f", 8, 9)),
            (Lines{"step_end step=8 of=500 time=2026-01-02T03:04:05.678",
                   "step_end step=9 of=500 time=2026-01-02T03:04:05.678"}));
}

TEST(ProfileLearner, PrefersStepsToMicroBatches) {
  Lines lines;
  for (int i = 1; i <= 12; ++i) lines.push_back(Cat("iter ", i, " step ", (i + 3) / 4, ": loss 2.", 20 - i));
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 12U);
  EXPECT_EQ(found.front(), "step_end step=1");
  EXPECT_EQ(found.back(), "step_end step=3");
}

TEST(ProfileLearner, TakesAnUnnamedNumberOnlyIfItLeadsSeveralLinesOfTraining) {
  EXPECT_EQ(Found(Course("%d | loss %.3f | lr 1e-4", 10, 50, 10)).size(), 5U);
  EXPECT_TRUE(Found(Course("%d | loss %.3f | lr 1e-4", 10, 30, 10)).empty()) << "too few";
  EXPECT_TRUE(Found(Course("%d | accuracy %.3f", 10, 90, 10)).empty()) << "no loss";
  EXPECT_TRUE(Found({"3 | loss 2.5 | lr 1e-4", "9 | loss 2.4 | lr 1e-4", "10 | loss 2.3 | lr 1e-4",
                     "31 | loss 2.2 | lr 1e-4", "32 | loss 2.2 | lr 1e-4"})
                  .empty())
      << "no rhythm";
}

TEST(ProfileLearner, LeavesEvaluationsAlone) {
  const Lines training = Course("step %d loss %.3f", 1, 20);
  const Lines evaluation = Course("step %d val_loss %.3f", 1, 9) +
                           Course("Evaluating: step %d loss %.3f", 1, 9) +
                           Course("step %d: validation loss %.3f", 1, 9);
  EXPECT_EQ(Found(training + evaluation).size(), 20U);
  EXPECT_TRUE(Found(evaluation).empty());
}

TEST(ProfileLearner, LeavesLoadingAndDownloadsAlone) {
  EXPECT_TRUE(Found(Course("Loading shard %d/40, %.1f MB/s", 1, 40)).empty());
  EXPECT_TRUE(Found(Course("Downloading data:  %d%%|###   | 12/40 [00:01<00:03, %.2fit/s]", 1, 40)).empty());
  EXPECT_TRUE(Found(Course("Map (num_proc=8): %d%%|#  | 512/4096 [00:01<00:03, %.2fit/s]", 1, 40)).empty());
  EXPECT_TRUE(Found(Course("worker %d started in %.2f s", 1, 40)).empty());
  EXPECT_TRUE(
      Found({"Step 1: install the packages", "Step 2: build 3 images", "Step 3: push 1 image"}).empty());
}

TEST(ProfileLearner, RefusesACounterThatBeginsAnewWithEachEpoch) {
  Lines lines;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 1; step <= 10; ++step)
      lines.push_back(Cat("epoch ", epoch, " step ", step, " loss 2.", 50 - 10 * epoch - step));
  }
  EXPECT_TRUE(Found(lines).empty());
}

TEST(ProfileLearner, AcceptsARestartAndTheSameStepOfSeveralRanks) {
  const Lines once = Course("[rank 0] step %d loss %.3f", 1, 30);
  EXPECT_EQ(Found(once + Course("[rank 0] step %d loss %.3f", 21, 40)).size(), 50U);
  Lines both;
  for (const std::string& line : once) {
    both.push_back(line);
    both.push_back(line);
  }
  EXPECT_EQ(Found(both).size(), 60U);
}

TEST(ProfileLearner, FindsATrainingBarButNoOther) {
  Lines lines;
  for (int i = 1; i <= 9; ++i)
    lines.push_back(Cat("Training: ", i * 10, "%|###   | ", i, "/10 [00:0", i, "<00:01,  1.00s/it]"));
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 9U);
  EXPECT_EQ(found.back(), "step_end step=9 of=10 elapsed=9");
}

TEST(ProfileLearner, FindsSavesOfCountedSteps) {
  const Lines lines =
      Course("step %d loss %.3f", 1, 20) + Lines{"saving checkpoint at step 20 to /ckpt/a",
                                                 "saved checkpoint for step 20 in 1.5 s",
                                                 "wrote the model of step 7000 elsewhere", "saved 3 models"};
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 22U) << "not the save of step 7000";
  EXPECT_EQ(Lines(found.begin() + 20, found.begin() + 22), (Lines{"save_begin step=20", "save_end step=20"}));
}

TEST(ProfileLearner, OneLineIsEnoughOnlyWithMuchBesideIt) {
  EXPECT_EQ(Found({R"({"num_updates": "4300", "loss": "2.1", "lr": "1e-4"})"}),
            (Lines{"step_end step=4300"}));
  EXPECT_TRUE(Found({"resumed at step 20"}).empty());
  EXPECT_TRUE(Found({"step 20 loss 3.1"}).empty());
}

TEST(ProfileLearner, HostileLinesCostLittleAndTeachNothing) {
  std::mt19937 engine(7);
  ProfileLearner learner;
  for (int i = 0; i < 3000; ++i) {
    std::string line;
    for (int size = static_cast<int>(engine() % 400); size > 0; --size)
      line += "step loss 0123456789:/|=\"'[](){}\\.*+?^$%\xff\x01 \t"[engine() % 45];
    learner.See(line);
  }
  for (int i = 0; i < 1000; ++i) learner.See(Cat("name", i, "step ", i, " loss 1.5"));
  learner.See(std::string(1 << 20, '9'));
  if (const auto learned = learner.Learn("ours")) {
    EXPECT_TRUE(LogProfile::Parse(learned->text, "ours").ok()) << learned->text;
  }
}

// As goodputd reads a running job's output.
TEST(LogReaderAuto, LearnsWhileTheProgramRunsAndMissesNoStepSinceTheFirst) {
  absl::StatusOr<LogReader> reader = LogReader::Open(kAutoProfile, "/nonexistent");
  ASSERT_TRUE(reader.ok());
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> offsets;
  Lines saves;
  const auto take = [&](const LogReader::Said& said) {
    if (said.event.kind == LogEvent::Kind::kStepEnd) {
      steps.push_back(said.event.step.value_or(-1));
      offsets.push_back(said.offset);
    } else {
      saves.push_back(Cat(LogEventKindName(said.event.kind), " ", EventInWords(said.event)));
    }
  };
  std::int64_t offset = 0;
  const auto print = [&](const std::string& line) { reader->Line(line, offset++, 0, take); };
  print("parsing 3 arguments");
  for (int step = 1; step <= 60; ++step) {
    print(Format("tick: update %d, loss %.3f", step, 3 - 0.01 * step));
    if (step == 40) print("saved the model at update 40");
  }
  reader->Finish(take);
  EXPECT_EQ(reader->profile(), kLearnedProfile);
  ASSERT_EQ(steps.size(), 60U);
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), 60);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  EXPECT_EQ(saves, (Lines{"save_end step=40"}));
}

}  // namespace
}  // namespace goodput
