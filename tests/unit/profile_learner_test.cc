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

TEST(FindNumbers, KnowsThousandsAndWhatIsNotANumberAndTheWordsBefore) {
  const std::string line =
      "iter: 107,200, of 1,2000 rows, csv 1,234,5 | shape (1,100) Gen Loss Total : nan | Loss: pixel=-inf | "
      "7/20k";
  std::string said;
  for (const LineNumber& number : FindNumbers(line)) {
    said += Cat(number.name, number.phrase.empty() ? "" : Cat("(", number.phrase, ")"), "=",
                number.integer ? Cat(*number.integer) : "~", number.of ? Cat("/", *number.of) : "", " ");
  }
  EXPECT_EQ(said, "iter=107200 of=1 =2000 csv=1 =234 =5 shape=1100 Total(Gen Loss)=~ pixel(Loss)=~ =7 ");
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
  lines.resize(20);
  EXPECT_TRUE(Found(lines).empty()) << "no restart: the epoch is another";
}

TEST(ProfileLearner, CountsThroughEpochsWhoseLengthIsPrinted) {
  const auto epochs = [](const char* format, int first, int base) {
    Lines lines;
    for (int epoch = first; epoch < first + 2; ++epoch) {
      for (int step = base; step < 60 + base; step += 20) {
        char text[200];
        (void)std::snprintf(text, sizeof text, format, epoch, step, 9.0 - 0.01 * step);
        lines.emplace_back(text);
      }
    }
    return lines;
  };
  const Lines from_zero = Found(epochs("Epoch: [%d]  [%4d/60]  eta: 0:10:00  loss: %.4f  time: 0.35", 0, 0));
  ASSERT_EQ(from_zero.size(), 6U);
  EXPECT_EQ(from_zero.front(), "step_end step=1");
  EXPECT_EQ(from_zero.back(), "step_end step=101");
  const Lines from_one = Found(epochs("Epoch [%d/5], Step [%d/60], Loss: %.4f", 2, 20));
  ASSERT_EQ(from_one.size(), 6U);
  EXPECT_EQ(from_one.front(), "step_end step=80") << "the 2 of `2/5` is the second epoch";
  EXPECT_EQ(from_one.back(), "step_end step=180");
  EXPECT_TRUE(Found(epochs("Epoch %d [%d/60] loss %.3f", 4, 20)).empty()) << "counted from 0, or from 1?";
  EXPECT_TRUE(Found({"Train Epoch: 0 [0/6400 (0%)]\tLoss: 2.3", "Train Epoch: 0 [640/6400 (10%)]\tLoss: 2.2",
                     "Train Epoch: 0 [1280/6400 (20%)]\tLoss: 2.1"})
                  .empty())
      << "samples";
}

TEST(ProfileLearner, DoubtsACounterInALaterEpoch) {
  EXPECT_TRUE(Found(Course("epoch 3 step %d loss %.3f", 1, 20)).empty());
  EXPECT_EQ(Found(Course("epoch 0 step %d loss %.3f", 1, 20)).size(), 20U);
  EXPECT_EQ(Found(Course("epoch 3 global_step %d loss %.3f", 1, 20)).size(), 20U);
  EXPECT_EQ(
      Found(Course("epoch 3 step %d loss %.3f", 1, 20) + Course("epoch 4 step %d loss %.3f", 21, 40)).size(),
      40U)
      << "it continues in the next epoch";
}

TEST(ProfileLearner, SeesFromTheIntervalThatCountingBeginsWithZero) {
  EXPECT_EQ(Found(Course("iter: %d  total_loss: %.3f", 19, 59, 20)).front(), "step_end step=20");
  EXPECT_EQ(Found(Course("iter: %d  total_loss: %.3f", 20, 60, 20)).front(), "step_end step=20");
}

TEST(ProfileLearner, ReadsADurationOnlyWithItsUnit) {
  EXPECT_EQ(Found(Course("step %d/100 | loss %.3f | 338.5 ms | 60.5 MFU | 1551289 tok/s", 1, 3)).front(),
            "step_end step=1 of=100 step_s=0.3385");
  EXPECT_EQ(Found(Course("step %d loss %.3f (1.25 sec/step)", 1, 3)).front(), "step_end step=1 step_s=1.25");
  EXPECT_EQ(Found(Course("step %d loss %.3f 2500.5 samples/s", 1, 3)).front(), "step_end step=1");
  EXPECT_EQ(Found(Course("step %d loss %.3f 12.5 s/epoch", 1, 3)).front(), "step_end step=1");
  // Each line twice, as TensorFlow 1 prints it; but two of one step may be parts of it.
  const auto twice = [](bool same) {
    Lines lines;
    for (int step = 1; step <= 4; ++step) {
      for (int i = 0; i < 2; ++i)
        lines.push_back(Cat("step ", step, " loss ", same ? 3 : 3 + i, ".5 (17.053 sec/step)"));
    }
    return Found(lines).front();
  };
  EXPECT_EQ(twice(true), "step_end step=1 step_s=17.053");
  EXPECT_EQ(twice(false), "step_end step=1");
}

TEST(ProfileLearner, ATimeSinceTheBeginningIsNoDuration) {
  const auto first = [](const char* format, const std::vector<int>& times) {
    Lines lines;
    for (std::size_t i = 0; i < times.size(); ++i)
      lines.push_back(Format(format, static_cast<int>(i) + 1, 9.5) + Cat(times[i]) + "ms");
    return Found(lines).front();
  };
  // By its name.
  EXPECT_EQ(first("{step: %d, loss: %.3f, elapsed_time: ", {36, 39, 41}), "step_end step=1");
  EXPECT_EQ(first("{step: %d, loss: %.3f, elapsed_time: ", {36, 31, 41}), "step_end step=1");
  EXPECT_EQ(first("step: %d, loss: %.3f, elapsed_time_per_step: ", {36, 31, 41}),
            "step_end step=1 step_s=0.036");
  // By its values.
  EXPECT_EQ(first("step:%d loss:%.3f train_time:", {33, 67, 99, 140}), "step_end step=1");
  EXPECT_EQ(first("step:%d loss:%.3f train_time:", {33, 35, 31, 40}), "step_end step=1 step_s=0.033");
  EXPECT_EQ(first("step:%d loss:%.3f train_time:", {33, 33, 33, 33}), "step_end step=1 step_s=0.033");
}

TEST(ProfileLearner, SaysWhyItLearnsNothing) {
  const auto why = [](const Lines& lines) {
    ProfileLearner learner;
    for (const std::string& line : lines) learner.See(line);
    EXPECT_FALSE(learner.Learn("ours"));
    return learner.WhyNot();
  };
  const std::string advice =
      "; print \"step N\" in the line with the loss, or write a profile (sgoodput profile show megatron is "
      "one)";
  EXPECT_EQ(
      why({"hello", "world 17"}),
      "no number counts steps: that takes a name such as step or iteration, or the begin of a line, and a "
      "loss" +
          advice);
  EXPECT_EQ(
      why(Course("step:%d/1480 val_loss:%.3f train_time:29736ms", 125, 375, 125)),
      "the lines that count steps, such as \"step:125/1480 val_loss:8.250 train_time:29736ms\", are of an "
      "evaluation" +
          advice);
  EXPECT_EQ(why({"Epoch 1/3", "loss: 0.51 - accuracy: 0.83", "Epoch 2/3", "loss: 0.41 - accuracy: 0.86"}),
            "2 lines count epochs, and an epoch is not a step: print the step, too, name the checkpoint "
            "directory (--goodput-checkpoint-dir), or count epochs (log profile epochs)");
  EXPECT_EQ(why(Course("epoch: %d train_loss: %.3f lr: 0.001", 1, 5)),
            "5 lines count epochs, and an epoch is not a step: print the step, too, name the checkpoint "
            "directory (--goodput-checkpoint-dir), or count epochs (log profile epochs)");
  EXPECT_EQ(why(Course("step %d accuracy %.3f", 1, 20)),
            "\"step\" in 20 lines, such as \"step 1 accuracy 9.490\", is not certain to count steps: its "
            "lines have no loss" +
                advice);
  EXPECT_EQ(why(Course("Epoch 4 [%d/500] loss %.3f", 20, 80, 20)),
            "the number beside the epoch in 4 lines, such as \"Epoch 4 [20/500] loss 9.300\", is not certain "
            "to count "
            "steps: its lines do not tell whether epochs are counted from 0 or from 1" +
                advice);
  EXPECT_NE(why(Course((std::string(59, 'x') + "\u00e4 step %d accuracy %.3f").c_str(), 1, 20))
                .find(std::string(59, 'x') + "...\","),
            std::string::npos)
      << "whole characters";
}

TEST(ProfileLearner, FindsABarsLossBehindTheBar) {
  Lines lines;
  for (int i = 1; i <= 5; ++i)
    lines.push_back(
        Cat("Steps: ", i, "%|#   | ", i * 10, "/1000 [00:1", i, "<10:00,  1.00it/s, step_loss=0.", i, "]"));
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found.back(), "step_end step=50 of=1000 elapsed=15");
}

TEST(ProfileLearner, ReadsTimesWithoutAYearButNoneThatCouldBeADayOrAMonth) {
  const auto first = [](const std::string& time) {
    const Lines found = Found(Course(Cat("[", time, ":01 loop] iter: %d  loss: %.4f").c_str(), 20, 160, 20));
    return found.empty() ? "" : found.front();
  };
  EXPECT_EQ(first("11/01 11:27"), "step_end step=20 time=11-01T11:27:01");
  EXPECT_EQ(first("2026/11/01,11:27"), "step_end step=20 time=2026-11-01T11:27:01");
  EXPECT_EQ(first("04/05/2026 11:27"), "step_end step=20");
}

TEST(ProfileLearner, SkipsTheNumbersOfALogger) {
  const Lines found = Found(
      Course("I0512 12:00:00.123456 140001 writer.py:48] [%d] loss=%.4f, grad_norm=1.2", 1900, 2300, 100));
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found.front(), "step_end step=1900 time=05-12T12:00:00.123456");
}

TEST(ProfileLearner, ReadsABracketAfterALoggerWithTheYear) {
  const Lines found = Found(
      Course("I20250512 12:00:00 90 vision helpers.py:102] Training  [%7d/125000]  eta: 1 day, 2:03:04  lr: "
             "0.0001 (0.0001)  total_loss: %.4f (9.01)  time: 1.57  max mem: 67339",
             0, 120, 10));
  ASSERT_EQ(found.size(), 13U);
  EXPECT_EQ(found.back(), "step_end step=121 of=125000 time=2025-05-12T12:00:00") << "it begins with 0";
}

TEST(ProfileLearner, OfTwoCountersOfOneNameTheInnerOneDoesNotCount) {
  Lines lines;
  for (int i = 0; i < 12; ++i)
    lines.push_back(Cat("train | inner iter: ", i % 8, "/8 | global iter: ", 13 + i, "/5000| loss: 2.3", i,
                        " | lr: 2.5e-07"));
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 12U);
  EXPECT_EQ(found.front(), "step_end step=13 of=5000");
}

TEST(ProfileLearner, NoEpochsAndNoSamplesInABracketAfterTraining) {
  EXPECT_TRUE(Found(Course("Training  [%d/100]  lr: 0.0001  loss: %.4f  time: 1.57", 1, 12)).empty())
      << "epochs";
  EXPECT_TRUE(
      Found(Course("Training  [%d/50000]  lr: 0.0001  loss: %.4f  time: 1.57", 640, 6400, 640)).empty())
      << "samples";
  EXPECT_EQ(Found(Course("Training  [%d/50000]  lr: 0.0001  loss: %.4f  time: 1.57", 10, 100, 10)).size(),
            10U);
}

TEST(ProfileLearner, AcceptsARestartAndTheSameStepOfSeveralRanks) {
  EXPECT_EQ(
      Found(Course("epoch 0 step %d loss %.3f", 1, 30) + Course("epoch 0 step %d loss %.3f", 21, 40)).size(),
      50U);
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
  const Lines lines = Course("step %d loss %.3f", 1, 20) + Lines{"saving checkpoint at step 20 to /ckpt/a",
                                                                 "saved checkpoint for step 20 in 1.5 s",
                                                                 "6999 rows",
                                                                 "7000 rows",
                                                                 "wrote the model, step 7000, elsewhere",
                                                                 "saved 3 models"};
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 22U) << "not the save of step 7000";
  EXPECT_EQ(Lines(found.begin() + 20, found.begin() + 22), (Lines{"save_begin step=20", "save_end step=20"}));
}

// The saves that are found of a run that logs every tenth step, and saves to such a file after 100 and 200.
Lines SavedTo(const char* format) {
  Lines lines = Course("step %d loss %.3f", 10, 100, 10) + Course(format, 100, 100) +
                Course("step %d loss %.3f", 110, 200, 10) + Course(format, 200, 200);
  Lines saves = Found(lines);
  saves.erase(std::remove_if(saves.begin(), saves.end(),
                             [](const std::string& line) { return line.find("step_end") == 0; }),
              saves.end());
  return saves;
}

// The rules for saves of the profile that is learned from steps and these lines after each hundred.
Lines SaveRules(const Lines& after) {
  const std::optional<LearnedProfile> learned = Learned(Course("step %d loss %.3f", 10, 100, 10) + after +
                                                        Course("step %d loss %.3f", 110, 200, 10) + after);
  Lines rules;
  if (!learned) return rules;
  for (std::size_t at = 0; (at = learned->text.find("rule    save_", at)) != std::string::npos;) {
    const std::size_t end = learned->text.find("\nexample", at);
    rules.push_back(learned->text.substr(at, end - at));
    at = end;
  }
  return rules;
}

TEST(ProfileLearner, FindsSavesThatDoNotTellTheirStep) {
  for (const char* line :
       {"saved checkpoint to out/model.pt", "[rank 3] INFO - Saved latest checkpoint: /c/x",
        "=> Checkpoint saved!", "[rank 3] checkpoint was successfully written to /c", "Wrote checkpoint",
        "wrote snapshot (12.1 MB)", "Checkpoint saved to ./exp/model_epoch_%d.pth"})
    EXPECT_EQ(SavedTo(line), (Lines{"save_end nothing", "save_end nothing"})) << line;
  EXPECT_EQ(SavedTo("2026-01-02 03:04:05,678 - INFO - Saved latest checkpoint: /c/x"),
            (Lines{"save_end time=2026-01-02T03:04:05.678", "save_end time=2026-01-02T03:04:05.678"}));
  EXPECT_EQ(SavedTo("saving checkpoint to out"), (Lines{"save_begin nothing", "save_begin nothing"}));
  EXPECT_EQ(
      SaveRules({"Saved checkpoint to /scratch/run7/last.pt in 3.25 s", "Saved checkpoint to /c/best.pt"}),
      Lines{R"(rule    save_end
match   \bSaved checkpoint to \S*/last\.pt in \d+\.\d+ s$)"});
  for (const char* line :
       {"Checkpoints will be saved to /c", "saving checkpoint every 100 steps", "Saved best checkpoint to /c",
        "Saved checkpoint to best.pt", "Not saving checkpoint to /c", "Saved checkpoint config to /c",
        "saved model to /c", "checkpoint saved in /c failed", "Removed checkpoint saved to /c",
        "load_checkpoint: saved checkpoints are in /c"})
    EXPECT_TRUE(SavedTo(line).empty()) << line;
  EXPECT_EQ(Found(Lines{"Saving checkpoint to /c"} + Course("step %d loss %.3f", 10, 100, 10)).size(), 10U)
      << "before any step";
}

TEST(ProfileLearner, ASaveIsOverAtTheNextStepOnlyIfNoLineSaysThatItIsComplete) {
  const Lines begins = SaveRules({"saving checkpoint to out"});
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_NE(begins[0].find("\nover_at next_step"), std::string::npos);
  const Lines both = SaveRules({"saving checkpoint to out", "checkpoint saved to out"});
  ASSERT_EQ(both.size(), 2U);
  for (const std::string& rule : both) EXPECT_EQ(rule.find("over_at"), std::string::npos) << rule;
}

TEST(ProfileLearner, ATotalBesideAnEpochMayBeTheEpochs) {
  for (const Lines& lines : {Course("epoch: [1/9] step: [%d/40], loss: %.3f", 1, 9),
                             Lines{"Epoch 1"} + Course("step %d/40, loss: %.3f", 1, 9)}) {
    const Lines found = Found(lines);
    ASSERT_EQ(found.size(), 9U) << lines.front();
    EXPECT_EQ(found.back(), "step_end step=9");
  }
  EXPECT_EQ(Found(Course("step %d/40, loss: %.3f", 1, 9)).back(), "step_end step=9 of=40");
}

TEST(ProfileLearner, TheCheckpointsOfTensorFlowHaveTheirStep) {
  EXPECT_EQ(SavedTo("INFO:tensorflow:Saving checkpoints for %d into ./logs/model.ckpt."),
            (Lines{"save_begin step=100", "save_begin step=200"}));
}

TEST(ProfileLearner, NamesMayFollowTheirNumbers) {
  Lines lines;
  for (int step = 1; step <= 12; ++step)
    lines.push_back(Format("%5d 7.32 s run, %.4f loss, 0.001 LR, 642.43 GB used", step, 9 - 0.1 * step));
  const Lines found = Found(lines);
  ASSERT_EQ(found.size(), 12U);
  EXPECT_EQ(found.back(), "step_end step=12 step_s=7.32");
  EXPECT_TRUE(Found(Course("%d rows, %.3f loss of packets", 1, 20)).empty());
}

TEST(ProfileLearner, FindsSavesByTheNamesOfTheirFiles) {
  for (const char* format :
       {"checkpoint written: /ckpt/step_%d.pt (1.2 s)", "Checkpoint saved to ./exp/run7/model_%d.pth",
        "saved state: '/ckpt/a b/%08d/'.", "Model saved to ckpt-%d.pt in 3 s",
        "saved model (out/iter%d_weights.safetensors)"})
    EXPECT_EQ(SavedTo(format), (Lines{"save_end step=100", "save_end step=200"})) << format;
  EXPECT_EQ(SavedTo("Saving checkpoint to /ckpt/%d"), (Lines{"save_begin step=100", "save_begin step=200"}));
  for (const char* format : {"Model saved to ./exp/model_epoch_%d.pth", "saved the model to part%d.bin",
                             "Model saved to best_%d.pt", "saved model v2_%d.pt"})
    EXPECT_TRUE(SavedTo(format).empty()) << format;
}

TEST(ProfileLearner, ACounterMayBeNamedWithItsTotal) {
  const Lines found =
      Found(Lines{"{'loss': 0.23, 'grad_norm': 0.65, 'train_speed(iter/s)': 0.0111, 'global_step/max_steps': "
                  "'56/176', 'elapsed_time': '1h 22m 38s'}",
                  "{'loss': 0.21, 'grad_norm': 0.73, 'train_speed(iter/s)': 0.0112, 'global_step/max_steps': "
                  "'57/176', 'elapsed_time': '1h 24m 14s'}",
                  "{'loss': 0.20, 'grad_norm': 0.67, 'train_speed(iter/s)': 0.0112, 'global_step/max_steps': "
                  "'58/176', 'elapsed_time': '1h 25m 50s'}"});
  EXPECT_EQ(found, (Lines{"step_end step=56 of=176", "step_end step=57 of=176", "step_end step=58 of=176"}));
}

TEST(ProfileLearner, ANumberInTheNameOfAFileThatIsNotAlwaysTheStepIsNone) {
  const Lines steps = Course("step %d loss %.3f", 1, 40);
  EXPECT_TRUE(Lines(Found(steps + Lines{"saved model to run_40.pt"} + Course("step %d loss %.3f", 41, 80) +
                          Lines{"saved model to run_40.pt"}))
                  .size() == 80U);
  EXPECT_EQ(Found(Course("step %d loss %.3f", 1, 5) + Lines{"saved model to run_5.pt"}).size(), 5U);
}

// The steps that the learned profile finds.
std::vector<std::int64_t> Steps(const Lines& lines) {
  std::vector<std::int64_t> steps;
  for (const std::string& found : Found(lines)) {
    long long step = 0;
    if (std::sscanf(found.c_str(), "step_end step=%lld", &step) == 1) steps.push_back(step);
  }
  return steps;
}
using StepNumbers = std::vector<std::int64_t>;

TEST(ProfileLearner, PrefersTheNumberOfTheWholeRunEvenWithoutItsLoss) {
  Lines lines;
  for (int i = 1; i <= 4; ++i)
    lines.push_back(Cat("   --> STEP: ", 25 * i, "/120 -- GLOBAL_STEP: ", 5000 + 25 * i)),
        lines.emplace_back("  | > loss: 2.5");
  EXPECT_EQ(Steps(lines), (StepNumbers{5025, 5050, 5075, 5100}));
  EXPECT_EQ(Steps(Course("Epoch done (global_step %d), time: %.1f s", 500, 2000, 500)),
            (StepNumbers{500, 1000, 1500, 2000}));
  EXPECT_TRUE(Steps(Course("step %d, time: %.1f s", 500, 2000, 500)).empty());
  EXPECT_TRUE(Steps(Course("step %d/8 loss %.3f global_step 0", 1, 5)).empty()) << "of a batch";
}

TEST(ProfileLearner, RefusesACounterThatBeginsAnewBelowLinesThatNameEpochs) {
  const auto epoch = [](const std::string& head, int first, int last) {
    return Lines{head} + Course("  Iter: [%d/400]  loss %.3f", first, last, 50);
  };
  EXPECT_TRUE(
      Found(epoch("==> Epoch 1 of the run", 0, 350) + epoch("==> Epoch 2 of the run", 0, 350)).empty());
  EXPECT_TRUE(Found(epoch("[Epoch=009/020] stage 1", 0, 350)).empty()) << "eight came before";
  EXPECT_EQ(Found(epoch("[Epoch=001/020] stage 1", 0, 350)).size(), 8U);
  EXPECT_EQ(Found(epoch("epoch 1/20", 0, 150) + epoch("epoch 2/20", 200, 350)).size(), 8U) << "it continues";
  EXPECT_EQ(Found(epoch("max epoch 20/20", 0, 350)).size(), 8U);
}

TEST(ProfileLearner, ACounterThatFallsWhenItHasReachedItsTotalIsOfAnEpoch) {
  const Lines epoch = Course("step %d/100 loss %.3f", 5, 100, 5);
  EXPECT_EQ(Found(epoch).size(), 20U);
  EXPECT_TRUE(Found(epoch + epoch).empty());
  EXPECT_TRUE(Found(epoch + Course("step %d/200 loss %.3f", 5, 200, 5)).empty()) << "another stage";
  EXPECT_EQ(
      Found(Course("step %d/100 loss %.3f", 5, 80, 5) + Course("step %d/100 loss %.3f", 65, 100, 5)).size(),
      24U)
      << "a restart";
}

TEST(ProfileLearner, ManyRestartsAreNoEpochs) {
  Lines resumed;
  Lines anew;
  for (int i = 0; i < 5; ++i) {
    resumed = resumed + Course("step %d loss %.3f", 1 + 30 * i, 40 + 30 * i);
    anew = anew + Course("step %d loss %.3f", 1, 40);
  }
  EXPECT_EQ(Found(resumed).size(), 200U);
  EXPECT_TRUE(Found(anew).empty());
}

TEST(ProfileLearner, ANumberOfUpdatesIsOfThoseThatAreDone) {
  EXPECT_EQ(Steps(Course(R"({"num_updates": %d, "loss": "%.3f", "lr": 1e-4})", 2249, 2749, 250)),
            (StepNumbers{2249, 2499, 2749}));
}

TEST(ProfileLearner, TheLossOfBalancedLoadIsTrainings) {
  EXPECT_EQ(Found(Course("step %d/50 | ce-loss %.4f | load-balance-loss 0.0018", 1, 5)).size(), 5U);
  EXPECT_TRUE(Found(Course("step %d/50 | valid-loss %.4f | load-balance-loss 0.0018", 1, 5)).empty());
}

TEST(ProfileLearner, TakesTheLossesOfTrainingAndAnEvaluationInOneLineIfNoOtherLinesCount) {
  const Lines both = Course("step %d: train loss 2.5, val loss %.3f", 250, 2500, 250);
  EXPECT_EQ(Found(both).size(), 10U);
  EXPECT_EQ(Found(both).front(), "step_end step=250");
  EXPECT_EQ(Steps(Course("step %d: train loss 2.5, val loss %.3f", 0, 1000, 500)),
            (StepNumbers{0, 500, 1000}))
      << "the evaluation before the first step counts none";
  EXPECT_TRUE(Found(Course("step %d: loss_a 2.5, val loss %.3f", 250, 2500, 250)).empty())
      << "not certain to be the loss of training";
  EXPECT_TRUE(Found(Course("%d/5000: train_loss: 0.3, valid_loss: %.3f", 250, 2500, 250)).empty())
      << "maybe epochs";
  EXPECT_TRUE(Found(Course("step %d: train loss 2.5, val loss %.3f", 250, 500, 250)).empty()) << "too few";
  EXPECT_EQ(
      Found(Course("step %d train_loss=2.5 val_loss=%.3f", 1, 9) + Course("iter %d: time %.1f ms", 1, 5))
          .size(),
      9U);
  EXPECT_EQ(Found(both + Course("iter %d: loss %.3f", 10, 2500, 10)).size(), 250U);
  EXPECT_EQ(Found(both + Course("step %d: loss %.3f", 10, 2500, 10)).size(), 250U);
  EXPECT_TRUE(Found(both + Course("epoch 1 step %d: loss %.3f", 10, 100, 10) +
                    Course("epoch 2 step %d: loss %.3f", 10, 100, 10))
                  .empty())
      << "their number is not that of the others";
}

TEST(ProfileLearner, ALossMayBeNoNumber) {
  Lines lines;
  for (int step = 4; step <= 40; ++step)
    lines.push_back(Cat("step ", step, " loss ", step % 2 == 0 ? "nan" : "-inf"));
  EXPECT_EQ(Found(lines).size(), 37U);
  EXPECT_TRUE(Found(Course("step %d val_loss nan lr %.3f", 4, 40)).empty());
}

TEST(ProfileLearner, CountsWithCommasAndLossesOfOneLetter) {
  Lines lines;
  for (int i = 8; i <= 13; ++i)
    lines.push_back(
        Cat("<epoch: ", i, ", iter: ", i < 10 ? "" : "1,", i < 10 ? i : i - 10, "00, lr:1e-4> l_pix: 0.5"));
  // 800, 900, 1,000, ...
  EXPECT_EQ(Steps(lines), (StepNumbers{800, 900, 1000, 1100, 1200, 1300}));
}

TEST(ProfileLearner, FindsALossInOtherWords) {
  EXPECT_EQ(Found(Course("Steps : %d, Gen Loss Total : %.3f, s/b : 1.16", 5, 25, 5)).size(), 5U);
  EXPECT_EQ(Found(Course("[Iteration %d] Train 448 in 1.25 seconds. Loss is %.3f.", 5, 9)).size(), 5U);
  EXPECT_EQ(Found(Course("Step: %d, Loss: pixel=%.3f fape=1.6", 5, 9)).size(), 5U);
  EXPECT_EQ(Found(Course("[10:00] Ep. 1 : Up. %d : Sen. 96,843 : Cost %.3f", 1000, 5000, 1000)).size(), 5U);
  EXPECT_TRUE(Found(Course("Steps : %d, Validation Loss Total : %.3f", 5, 25, 5)).empty());
  EXPECT_TRUE(Found(Course("iteration %d Time cost=%.3f", 5, 25, 5)).empty());
}

TEST(ProfileLearner, ASingleOddLineDoesNotHideTheOthers) {
  const Lines steps = Course("step:%d/1390 time:%.2fms", 1, 30);
  EXPECT_EQ(Found(Lines{"# from the split step (2/3 of training) on"} + steps).size(), 30U);
  Lines noise;
  for (int i = 0; i < 600; ++i) {
    std::string word;
    for (int rest = i; rest > 0; rest /= 26) word += static_cast<char>('a' + rest % 26);
    noise.push_back(Cat("(", word, ") 17 of them"));
  }
  EXPECT_EQ(Found(noise + steps).size(), 30U);
}

TEST(ProfileLearner, KnowsAnEpochAndItsCounterInAnyOrder) {
  const Lines train = Course("INFO Train: [0/300][%d/1251]  lr 0.01  loss %.4f", 0, 100, 10) +
                      Course("INFO Train: [1/300][%d/1251]  lr 0.01  loss %.4f", 0, 100, 10);
  const StepNumbers steps = Steps(train);
  ASSERT_EQ(steps.size(), 22U);
  EXPECT_EQ(steps.back(), 1251 + 101);
  const Lines of = Course("Finished it %d/60 of epoch 0, loss %.4f", 20, 60, 20) +
                   Course("Finished it %d/60 of epoch 1, loss %.4f", 20, 60, 20);
  EXPECT_EQ(Steps(of), (StepNumbers{20, 40, 60, 80, 100, 120}));
}

TEST(ProfileLearner, ANumberWithAUnitCountsNoSteps) {
  Lines lines = Course("step:%d smpl:2K loss:%.3f lr:1e-5", 200, 800, 200);
  for (const int step : {1, 1, 1, 1, 2}) lines.push_back(Cat("step:", step, "K smpl:9K loss:0.5 lr:1e-5"));
  EXPECT_TRUE(Found(lines).empty()) << "most of its steps are unknown";
  EXPECT_TRUE(Found(Course("step %d%% loss %.3f lr 0.1", 1, 20)).empty());
  EXPECT_EQ(Found(Course("step %d loss %.3f lr 0.1", 1, 20) + Lines{"evaluated after step 2K: 0.7"}).size(),
            20U);
}

TEST(ProfileLearner, RefusesACounterIfAnotherOfItsNameFalls) {
  const Lines finder = Course("lr_finder: step %d loss %.3f", 1, 20);
  const Lines stages = Course("step %d/15 loss %.3f", 1, 15) + Course("step %d/25 loss %.3f", 1, 4) +
                       Course("step %d/35 loss %.3f", 1, 4);
  EXPECT_EQ(Found(finder).size(), 20U);
  EXPECT_TRUE(Found(finder + stages).empty());
}

TEST(ProfileLearner, ABarOfEpochsCountsNoSteps) {
  const auto bar = [](const std::string& what) {
    Lines lines;
    for (int i = 1; i <= 9; ++i)
      lines.push_back(
          Cat(what, ": ", i * 10, "%|###   | ", i, "/10 [00:0", i, "<00:01,  1.00s/it, loss=2.", i, "]"));
    return lines;
  };
  EXPECT_TRUE(Found(bar("Epoch")).empty());
  EXPECT_TRUE(Found(bar("Training epochs")).empty());
  EXPECT_EQ(Found(bar("Training epoch 1")).size(), 9U);
}

TEST(ProfileLearner, StepsBesideEpisodesAreAnEnvironments) {
  EXPECT_TRUE(Found(Course("global_step=%d, episodic_return=%.2f, time=5", 100, 900, 100)).empty());
  EXPECT_TRUE(Found(Course("Episode 5, step %d, loss %.3f, lr 0.1", 100, 900, 100)).empty());
  EXPECT_EQ(Found(Course("episode 64, training_step %d, loss %.3f", 1, 9)).size(), 9U);
}

TEST(ProfileLearner, FindsSavesInOtherWords) {
  const auto saves = [](const Lines& lines) {
    Lines found = Found(lines);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [](const std::string& line) { return line.find("step_end") == 0; }),
                found.end());
    return found;
  };
  EXPECT_EQ(saves(Course("step %d loss %.3f", 1, 20) + Lines{"Checkpoint at step 20"}),
            Lines{"save_begin step=20"});
  EXPECT_TRUE(saves(Course("step %d loss %.3f", 1, 20) + Lines{"Loading checkpoint at step 20"}).empty());
  EXPECT_EQ(saves(Course("step %d loss %.3f", 10, 90, 10) + Lines{"Snapshotting to run_iter_100.weights"} +
                  Course("step %d loss %.3f", 100, 200, 10)),
            Lines{"save_begin step=100"})
      << "before the line of its step";
  Lines each;
  for (int step = 47; step <= 52; ++step) {
    each.push_back(Cat("Saved checkpoint to /ckpt/phase_1/ckpt-", step));
    each.push_back(Cat("Train Step: ", step, "/90 / loss = 7.5"));
  }
  EXPECT_EQ(saves(each).size(), 6U) << "a save of each step, before its line";
  EXPECT_EQ(saves(Course("step %d loss %.3f", 0, 19) + Lines{"saved the model at step 19"}),
            Lines{"save_end step=20"})
      << "it counts from 0, as the steps do";
  EXPECT_EQ(saves(Course("step %d loss %.3f", 0, 19) + Lines{"saved the model at step 20"}),
            Lines{"save_end step=20"});
  EXPECT_TRUE(saves(Lines{"a plan: state saved at step 6"} + Course("step %d loss %.3f", 1, 20)).empty());
  EXPECT_TRUE(saves(Lines{"torch.save(log, f'state_step{step:06d}.pt')"} + Course("step %d loss %.3f", 1, 20))
                  .empty());
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

// Steps that a reader finds with a profile of this text.
Lines Read(const std::string& profile, const Lines& lines) {
  absl::StatusOr<LogReader> reader = LogReader::Of(profile, "test");
  EXPECT_TRUE(reader.ok()) << reader.status();
  Lines steps;
  for (const std::string& line : lines) {
    reader->Line(line, 0, 0, [&](const LogReader::Said& said) { steps.push_back(EventInWords(said.event)); });
  }
  return steps;
}

TEST(LogReader, CountsTheStepsOfAnEpochThatALineOfItsOwnNames) {
  const std::string profile =
      "profile x\nrule epoch_begin\nmatch ^Epoch (?P<epoch1>\\d+)$\nexample Epoch 2\ngives epoch=1\n"
      "rule step_end\nmatch ^(?P<step>\\d+)/(?P<of>\\d+)$\nwithin epoch\nexample 7/50\ngives step=7 of=50\n";
  EXPECT_EQ(Read(profile, {"3/50", "Epoch 1", "10/50", "50/50", "Epoch 2", "1/50", "1/5", "5/5", "50/50"}),
            (Lines{"step=10", "step=50", "step=51", "step=100"}))
      << "nothing before the first epoch, and no bar with another total";
  std::string if_any = profile;
  if_any.replace(if_any.find("within epoch"), 12, "within epoch_if_any");
  EXPECT_EQ(Read(if_any, {"3/50", "4/50"}), (Lines{"step=3", "step=4"}));
  EXPECT_EQ(Read(if_any, {"Epoch 3", "4/50"}), (Lines{"step=104"}));
}

// Steps that a reader with the profile `epochs` finds, as goodputd reads, and what is wrong with the lines.
std::pair<StepNumbers, std::string> ReadEpochs(const Lines& lines) {
  absl::StatusOr<LogReader> reader = LogReader::Open(kEpochsProfile, "/nonexistent");
  absl::StatusOr<LogReader> all = LogReader::Open(kEpochsProfile, "/nonexistent");
  EXPECT_TRUE(reader.ok()) << reader.status();
  StepNumbers steps;
  const auto take = [&](const LogReader::Said& said) {
    if (said.event.kind == LogEvent::Kind::kStepEnd) steps.push_back(*said.event.step);
  };
  for (const std::string& line : lines) {
    reader->Line(line, 0, 0, take);
    all->Count(line);
  }
  reader->Finish(take);
  return {steps, all->MostCounted().no_steps};
}

TEST(LogReader, CountsEpochsAsStepsIfAskedTo) {
  const auto steps = [](const Lines& lines) { return ReadEpochs(lines).first; };
  EXPECT_EQ(steps(Course("Epoch %d: loss=%.3f, MAE=0.3 meV", 0, 3)), (StepNumbers{1, 2, 3, 4}));
  EXPECT_EQ(steps(Course("logger - epoch: %d, lr: 1.00 - train loss: %.3f - valid loss: 1.23", 1, 3)),
            (StepNumbers{1, 2, 3}));
  EXPECT_EQ(steps(Course("===> Epoch %d Complete: Avg. Loss: %.3f time: 657.89", 252, 254)),
            (StepNumbers{252, 253, 254}));
  Lines many;
  for (int epoch = 1; epoch <= 40; ++epoch) {
    many.push_back(Cat("Epoch ", epoch, "/40"));
    for (int line = 0; line < 9; ++line) many.push_back("something else");
    many.push_back(Cat("Epoch ", epoch, " val loss 0.5"));
    many.push_back(Cat("Epoch ", epoch, " loss 0.5"));
  }
  EXPECT_EQ(steps(many).size(), 40U);
  EXPECT_EQ(steps(many).front(), 1);
  const auto why = [](const Lines& lines) {
    const auto [found, reason] = ReadEpochs(lines);
    EXPECT_TRUE(found.empty());
    return reason;
  };
  EXPECT_EQ(why({"Epoch 1", "val loss 0.5", "Epoch 2"}), "no line has an epoch and a loss");
  EXPECT_EQ(
      why(Course("Epoch 1 batch %d/50 loss %.3f", 1, 50) + Course("Epoch 2 batch %d/50 loss %.3f", 1, 50)),
      "\"Epoch\" in 100 lines, such as \"Epoch 1 batch 1/50 loss 9.490\", is not certain to count epochs: an "
      "epoch has several such lines; write a profile");
}

TEST(LogReader, TheLineOfAStepsEndMayLeaveItsNumberToThatOfItsBegin) {
  const std::string profile =
      "profile x\nrule step_begin\nmatch ^Epoch (?P<step>\\d+)$\nadd 1\nexample Epoch 1\ngives step=2\n"
      "rule step_end\nmatch ^train_loss\nexample train_loss\ngives nothing\n";
  EXPECT_EQ(Read(profile, {"train_loss 7", "Epoch 0", "train_loss 6", "train_loss 6", "Epoch 1", "Epoch 1",
                           "train_loss 5", "Epoch 2"}),
            (Lines{"step=1", "step=1", "step=2", "step=2", "step=2", "step=3"}));
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

// Instead of a line: the next srun begins.
constexpr std::string_view kSrun = "srun";

// What is read of such lines while they are printed.
std::vector<std::int64_t> ReadLive(const Lines& lines) {
  absl::StatusOr<LogReader> reader = LogReader::Open(kAutoProfile, "/nonexistent");
  EXPECT_TRUE(reader.ok());
  std::vector<std::int64_t> steps;
  const auto take = [&](const LogReader::Said& said) { steps.push_back(said.event.step.value_or(-1)); };
  for (const std::string& line : lines) {
    if (line == kSrun) {
      reader->ProgramBegins();
    } else {
      reader->Line(line, 0, 0, take);
    }
  }
  reader->Finish(take);
  return steps;
}

TEST(LogReaderAuto, StopsWhenWhatItLearnedProvesWrong) {
  const Lines first = Course("step %d loss %.3f", 1, 40);
  EXPECT_EQ(ReadLive(Lines{"Epoch 1"} + first + Lines{"Epoch 2"} + first).size(), 40U)
      << "the second epoch's are no restart";
  EXPECT_EQ(ReadLive(Course("epoch 0 step %d loss %.3f", 1, 40) + Course("epoch 1 step %d loss %.3f", 1, 40))
                .size(),
            40U);
  EXPECT_EQ(ReadLive(first + Course("step %d loss %.3f", 31, 60)).size(), 70U) << "a restart";
  EXPECT_EQ(
      ReadLive(Course("epoch 3 step %d/40 loss %.3f", 1, 40) + Course("epoch 4 step %d/40 loss %.3f", 1, 40))
          .size(),
      0U);
  EXPECT_EQ(ReadLive(Course("step:%d loss:%.3f", 10, 990, 10) +
                     Lines{"step:1K loss:0.5", "step:1K loss:0.5"} + Course("step:%d loss:%.3f", 10, 50, 10))
                .size(),
            99U)
      << "no step behind a rounded one";
  const StepNumbers commas = ReadLive(Course("iter: %d, loss %.3f", 970, 999) +
                                      Lines{"iter: 1,000, loss 1.5", "iter: 1,001, loss 1.5"});
  ASSERT_FALSE(commas.empty());
  EXPECT_EQ(commas.back(), 1001);
}

TEST(LogReaderAuto, ACounterThatBeginsAnewGoesOnIfItsLinesTellTheEpoch) {
  StepNumbers all;
  for (int step = 1; step <= 120; ++step) all.push_back(step);
  EXPECT_EQ(ReadLive(Course("epoch: [1/9] step: [%d/40], loss: %.3f", 1, 40) +
                     Course("epoch: [2/9] step: [%d/40], loss: %.3f", 1, 40) +
                     Course("epoch: [3/9] step: [%d/40], loss: %.3f", 1, 40)),
            all);
  EXPECT_EQ(
      ReadLive(Course("epoch 0 step %d/40 loss %.3f", 1, 40) + Course("epoch 1 step %d/40 loss %.3f", 1, 40) +
               Course("epoch 2 step %d/40 loss %.3f", 1, 40)),
      all);
}

TEST(LogReaderAuto, ProgramsThatTrainOneAfterAnotherCountFromTheFirstStepEach) {
  const Lines next{std::string(kSrun)};
  for (const Lines& fold :
       {Course("step %d/40 loss %.3f", 1, 40), Course("step %d, loss %.3f", 1, 40),
        Lines{"Epoch 1"} + Course("step %d, loss %.3f", 1, 20) + Lines{"Epoch 2"} +
            Course("step %d, loss %.3f", 21, 40),
        Course("epoch 0 step %d loss %.3f", 1, 20) + Course("epoch 1 step %d loss %.3f", 21, 40)}) {
    const StepNumbers steps = ReadLive(fold + next + fold + next + fold + next + fold);
    ASSERT_EQ(steps.size(), 160U) << fold.front();
    EXPECT_EQ(steps[120], 1);
    EXPECT_EQ(steps.back(), 40);
  }
  EXPECT_EQ(ReadLive(Course("step %d/40 loss %.3f", 1, 40) + next + Course("step %d/40 loss %.3f", 1, 40) +
                     Course("step %d/40 loss %.3f", 1, 40))
                .size(),
            80U)
      << "the second one's steps are those of an epoch";
}

// The steps that are read of such lines as those of one rank, and "again" where a rank repeats them.
Lines OfOneRank(const Lines& lines) {
  absl::StatusOr<LogReader> reader = LogReader::Of(
      "profile x\nstamp (?P<date>\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d)\nrule step_end\n"
      "match \\bstep (?P<step>\\d+)$\nexample step 7\ngives step=7\n",
      "test");
  EXPECT_TRUE(reader.ok()) << reader.status();
  Lines said;
  for (const std::string& line : lines) {
    reader->Line(line, 0, 0, [&](const LogReader::Said& one) {
      said.push_back(one.event.said_before ? "again" : Cat(*one.event.step));
    });
  }
  return said;
}

TEST(OneRank, TellsByTheLabelWhoLagsAndWhoWasRestarted) {
  for (const char* label : {"%d: ", "[default%d]:", "[rank%d]:", "[1,%d]<stdout>:", "node-%d | ",
                            "rank %d: ", "INFO [Rank %d] "}) {
    const auto rank = [&](int number, const Lines& steps) {
      Lines lines;
      for (const std::string& step : steps) lines.push_back(Cat(Format(label, number, 0), "step ", step));
      return lines;
    };
    EXPECT_EQ(OfOneRank(rank(0, {"1", "2", "3"}) + rank(1, {"1", "2", "3", "4"}) + rank(0, {"4", "5"}) +
                        rank(1, {"5"}) + rank(0, {"4", "5", "6"}) + rank(1, {"4", "5", "6", "7"})),
              (Lines{"1", "2", "3", "again", "again", "again", "4", "again", "5", "again", "4", "5", "6",
                     "again", "again", "again", "7"}))
        << label;
  }
  EXPECT_EQ(OfOneRank({"(Worker pid=71) step 1", "(Worker pid=71) step 2", "(Worker pid=72) step 1"}),
            (Lines{"1", "2", "1"}))
      << "perhaps a new start";
  EXPECT_EQ(OfOneRank({"2026-05-01 | step 7", "2026-05-02 | step 6"}), (Lines{"7", "6"}))
      << "a day is no rank";
}

// As when the last of fewer ranks prints after a restart.
TEST(OneRank, AnotherRankThatComesLongAfterwardsIsARestart) {
  EXPECT_EQ(OfOneRank({"[rank7] 2026-05-01 10:00:10 step 1", "[rank7] 2026-05-01 10:00:20 step 2",
                       "[rank3] 2026-05-01 10:05:10 step 1", "[rank3] 2026-05-01 10:05:20 step 2"}),
            (Lines{"1", "2", "1", "2"}));
  EXPECT_EQ(OfOneRank({"[rank7] 2026-05-01 10:00:10 step 1", "[rank7] 2026-05-01 10:00:20 step 2",
                       "[rank3] 2026-05-01 10:00:11 step 1", "[rank3] 2026-05-01 10:00:21 step 2"}),
            (Lines{"1", "2", "again", "again"}));
}

TEST(OneRank, TellsByTheTimeWithoutALabel) {
  EXPECT_EQ(
      OfOneRank({"2026-05-01 10:00:10 step 1", "2026-05-01 10:00:20 step 2", "2026-05-01 10:00:10 step 1",
                 "2026-05-01 10:00:21 step 2", "2026-05-01 10:00:30 step 3"}),
      (Lines{"1", "2", "again", "2", "3"}));
  EXPECT_EQ(
      OfOneRank({"2026-05-01 10:00:10 step 1", "2026-05-01 10:00:20 step 2", "2026-05-01 10:00:25 step 1"}),
      (Lines{"1", "2", "1"}))
      << "a restart";
}

TEST(LogReaderAuto, ReadsFromTheFirstStepHoweverLateItLearns) {
  Lines noisy;
  for (int step = 1; step <= 30; ++step) {
    noisy.push_back(Cat("step ", step, " loss 2.5"));
    for (int i = 0; i < 40; ++i)
      noisy.push_back(Cat("tensor ", std::string(1000, static_cast<char>('a' + i % 26))));
  }
  const StepNumbers steps = ReadLive(noisy);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), 30);
  // It may begin anew with each epoch, until it does not.
  const StepNumbers epochs = ReadLive(
      Course("epoch 3 step %d loss %.3f lr 0.00012345, grad norm 1.2345, 123.4 tokens/s", 1, 4000) +
      Course("epoch 4 step %d loss %.3f lr 0.00012345, grad norm 1.2345, 123.4 tokens/s", 4001, 6000));
  ASSERT_GT(epochs.size(), 1000U);
  EXPECT_EQ(epochs.front(), 1);
  EXPECT_LT(epochs[1], 100) << "a line of many steps tells less of their times";
  EXPECT_EQ(epochs.back(), 6000);
}

TEST(ProfileLearner, RanksThatComeInBlocksCountForThemselves) {
  Lines lines;
  for (int block = 0; block < 8; ++block) {
    for (int rank = 0; rank < 6; ++rank) {
      for (int step = 1; step <= 5; ++step)
        lines.push_back(Cat("[rank", rank, "]: step ", 5 * block + step, " loss 2.5"));
    }
  }
  StepNumbers steps = ReadLive(lines);
  EXPECT_EQ(steps.size(), 240U);
  EXPECT_EQ(*std::max_element(steps.begin(), steps.end()), 40);
}

}  // namespace
}  // namespace goodput
