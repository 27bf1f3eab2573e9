// Programs without marks: steps inferred from signals, exits and checkpoints on disk, compared with the marks
// of the same run.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/cases.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/step_rate.h"

namespace goodput {
namespace {

Ns Of(const Timeline& timeline, Bucket bucket) {
  Ns sum = 0;
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket == bucket) sum += interval.end - interval.begin;
  }
  return sum;
}

std::string EvidenceOf(const Timeline& timeline, Bucket bucket) {
  std::string words;
  for (const Interval& interval : timeline.intervals) {
    const std::string word(EvidenceName(interval.evidence));
    if (interval.bucket == bucket && words.find(word) == std::string::npos) words += word + " ";
  }
  return words;
}

void ExpectWithin(double truth, const Range& range) {
  EXPECT_LE(range.first, truth);
  EXPECT_GE(range.second, truth);
}

std::string AfterLaunch(const std::string& story) {
  const auto at = story.find("startup");
  const auto unknown = story.find("unobserved");
  return story.substr(std::min(at, unknown));
}

// Steps of 2 s: 20 by 70 s, 50 by 133 s, 60 by 160 s. The saves take 3, 7 and 1 s.
AttemptBuilder& Silent(RunBuilder& run) {
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  return attempt.File(20, 70, 73).File(50, 133, 140).File(60, 160, 161);
}

TEST(InferredSteps, LieBetweenCheckpointsAndAreRunBackToTheFirst) {
  RunBuilder run;
  Silent(run).TaskKilled(180, 0, SIGKILL).Ended(181, "FAILED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(AfterLaunch(RunBuilder::Tell(timeline)),
            "startup 12-30 | productive 30-70 | checkpoint_save 70-73 | productive 73-133 | checkpoint_save "
            "133-140 | productive 140-160 | checkpoint_save 160-161 | lost_work 161-180 | teardown 180-181");
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kStartup), "inferred ");
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kProductive), "inferred file ");
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kCheckpointSave), "file ");
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kLostWork), "inferred ");
  EXPECT_EQ(timeline.steps.kept, 60);
  EXPECT_EQ(timeline.steps.lost, 10) << "nine, and the one in flight";
  EXPECT_EQ(timeline.steps.median, 2 * kSecond);
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].t_ch, 19 * kSecond) << "the save at 160 -> step 69 done at 179";
}

TEST(InferredSteps, ASaveThatWasOnlySeenCompleteWidensTheRangeUntilTheTruthLiesWithin) {
  // Steps of 2 s with a blocking save of 8 s after every 10: 60 of 84 s are productive. Of a save only the
  // completion is known.
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0).TaskStarts(0, 0);
  for (int save = 1; save <= 3; ++save) attempt.File(10 * save, 28 * save, 28 * save);
  attempt.TaskExits(84, 0, 0).Ended(84, "COMPLETED");
  const std::optional<Range> range = TakeAccount(run.Build()).goodput.runtime_range;
  ASSERT_TRUE(range);
  ExpectWithin(60.0 / 84, *range);
}

TEST(InferredSteps, ASaveWhoseBeginTheFileSystemDoesNotTellWidensTheRangeByWhatIsNotKnown) {
  // Steps of 2 s with a blocking save of 8 s after every 10: 60 of 84 s are productive. A save was first seen
  // 1 s before its end; the previous scan was 9 s earlier.
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0).TaskStarts(0, 0);
  for (int save = 1; save <= 3; ++save) attempt.FileOfUnknownBegin(10 * save, 28 * save - 1, 28 * save, 9);
  attempt.TaskExits(84, 0, 0).Ended(84, "COMPLETED");
  const std::optional<Range> range = TakeAccount(run.Build()).goodput.runtime_range;
  ASSERT_TRUE(range);
  ExpectWithin(60.0 / 84, *range);
  EXPECT_GT(range->first, 45.0 / 84) << "no wider than that";
}

TEST(MarkedSteps, ASaveOfUnknownBeginTookWhatItsStepTookBeyondTheOthers) {
  // Steps of 2 s; a save of 8 s follows the tenth.
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(0).Ready(0).Srun(0, 0, 48, 0);
  attempt.Steps(0, 9, 0, 2).Steps(10, 19, 28, 2).FileOfUnknownBegin(10, 27, 28, 15).Ended(48, "COMPLETED");
  EXPECT_EQ(Of(run.Build(), Bucket::kCheckpointSave), 8 * kSecond);
}

TEST(InferredSteps, AfterTheLastCheckpointAreKeptIfTheProgramFinished) {
  RunBuilder run;
  Silent(run).TaskExits(180, 0, 0).Ended(181, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(Of(timeline, Bucket::kLostWork), 0);
  EXPECT_NE(RunBuilder::Tell(timeline).find("productive 161-180"), std::string::npos);
  EXPECT_TRUE(timeline.interruptions.empty());
}

TEST(InferredSteps, EndWithTheStepInWhichTheProgramWasToldToStop) {
  RunBuilder run;
  // 161 + 4 steps is 169; the program exits at 175.
  Silent(run).Signal(168, SIGTERM, true).TaskExits(175, 0, 0).Ended(176, "REQUEUED");
  const Timeline timeline = run.Build();
  EXPECT_NE(RunBuilder::Tell(timeline).find("checkpoint_save 160-161 | lost_work 161-169 | drain 169-175"),
            std::string::npos)
      << RunBuilder::Tell(timeline);
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kDrain), "signal ");
}

TEST(InferredSteps, ASaveThatWasAskedForIsTheLastThingALoopDoes) {
  RunBuilder run;
  Silent(run).Signal(168, SIGUSR1, true).File(64, 169, 174).TaskExits(175, 0, 0).Ended(176, "REQUEUED");
  const Timeline timeline = run.Build();
  EXPECT_NE(RunBuilder::Tell(timeline).find("productive 161-169 | checkpoint_save 169-174 | drain 174-175"),
            std::string::npos)
      << RunBuilder::Tell(timeline);
  EXPECT_EQ(timeline.signals.summary, "1 signal, 1 checkpoint in time");
}

TEST(InferredSteps, GoOnFromTheLastCheckpointThatWasComplete) {
  RunBuilder run;
  Silent(run).TaskKilled(180, 0, SIGKILL).Ended(181, "REQUEUED");
  AttemptBuilder& next =
      run.Attempt().Submitted(181).Eligible(181).Started(200).Ready(201).TaskStarts(202, 0);
  next.File(80, 260, 263).TaskExits(263, 0, 0).Ended(264, "COMPLETED");
  const Timeline timeline = run.Build();
  // 20 steps of 2 s before 260, so the restore ended by 220.
  EXPECT_NE(RunBuilder::Tell(timeline).find("startup 202-220 | productive 220-260 | checkpoint_save 260-263"),
            std::string::npos)
      << RunBuilder::Tell(timeline);
  EXPECT_EQ(timeline.steps.kept, 80);
  ASSERT_EQ(timeline.interruptions.size(), 1U);
  EXPECT_EQ(timeline.interruptions[0].t_rm, 19 * kSecond) << "resources at 201, the first step at 220";
}

TEST(InferredSteps, OfAnEarlierCheckpointAgainWereLostTheFirstTime) {
  RunBuilder run;
  Silent(run).TaskKilled(180, 0, SIGKILL).Ended(181, "REQUEUED");
  AttemptBuilder& next =
      run.Attempt().Submitted(181).Eligible(181).Started(200).Ready(201).TaskStarts(202, 0);
  next.File(55, 230, 231).File(80, 281, 283).TaskExits(283, 0, 0).Ended(284, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_NE(RunBuilder::Tell(timeline).find("startup 202-220 | productive 220-230"), std::string::npos)
      << RunBuilder::Tell(timeline);
  EXPECT_EQ(timeline.steps.kept, 80) << "50 of the first attempt, 30 of the second";
}

TEST(InferredSteps, ThatWereSavedWhileTheJobCompletedCountAsWell) {
  RunBuilder run;
  // It saves at a signal and trains on; it is told to stop when Slurm ends the attempt, and saves again.
  Silent(run).Signal(172, SIGUSR1, true).File(66, 173, 174).Signal(181, SIGTERM, true).File(70, 182, 184);
  run.Last().TaskExits(185, 0, 0).Ended(181, "REQUEUED");
  AttemptBuilder& next =
      run.Attempt().Submitted(181).Eligible(181).Started(200).Ready(201).TaskStarts(202, 0);
  next.File(80, 230, 231).TaskExits(231, 0, 0).Ended(232, "COMPLETED");
  const Timeline timeline = run.Build();
  const std::string story = RunBuilder::Tell(timeline);
  EXPECT_NE(story.find("productive 161-173 | checkpoint_save 173-174 | productive 174-181 | queue"),
            std::string::npos)
      << story;
  EXPECT_NE(story.find("startup 202-210 | productive 210-230"), std::string::npos) << story;
  EXPECT_EQ(timeline.steps.kept, 80);
}

TEST(InferredSteps, AreARangeWhereNothingSaysWhetherTheLoopWaited) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  // Every interval is equal: 20 steps of 2 s and 10 s of waiting, or 20 steps of 2.5 s.
  attempt.File(20, 70, 80)
      .File(40, 120, 130)
      .File(60, 170, 180)
      .TaskKilled(200, 0, SIGKILL)
      .Ended(201, "FAILED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(AfterLaunch(RunBuilder::Tell(timeline)),
            "startup 12-20 | unobserved.allocated 20-30 | productive 30-70 | unobserved.allocated 70-80 | "
            "productive 80-120 | unobserved.allocated 120-130 | productive 130-170 | unobserved.allocated "
            "170-180 | lost_work 180-200 | teardown 200-201");
  const Goodput goodput = TakeAccount(timeline).goodput;
  ASSERT_TRUE(goodput.runtime_range);
  EXPECT_NEAR(goodput.runtime_range->first, 120 / 191.0, 1e-9);
  EXPECT_NEAR(goodput.runtime_range->second, 160 / 191.0, 1e-9);
}

TEST(InferredSteps, TimeTheStepsDoNotExplainIsUnobserved) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.File(20, 70, 73)
      .File(50, 133, 140)
      .File(60, 160, 161)
      .File(70, 281, 282)
      .TaskExits(282, 0, 0)
      .Ended(283, "COMPLETED");
  EXPECT_NE(run.Story().find("checkpoint_save 160-161 | unobserved.allocated 161-261 | productive 261-281"),
            std::string::npos)
      << run.Story();
}

TEST(InferredSteps, ACheckpointThatIsOverdueLeavesOpenWhatWasDone) {
  RunBuilder run;
  // The longest interval is 63 s; the program was told to stop 400 s after the last save, so it hung.
  Silent(run).Signal(561, SIGTERM, true).TaskKilled(600, 0, SIGKILL).Ended(601, "CANCELLED");
  EXPECT_NE(run.Story().find("checkpoint_save 160-161 | unobserved.allocated 161-563 | drain 563-600"),
            std::string::npos)
      << run.Story();
}

TEST(InferredSteps, EndWhenTheNodeWasLastSeen) {
  RunBuilder run;
  Silent(run).LastSeenAlive(171).Ended(400, "NODE_FAIL").facts.failed_node = "n1";
  EXPECT_NE(run.Story().find("lost_work 161-171 | stall 171-400"), std::string::npos) << run.Story();
  EXPECT_EQ(run.Build().steps.lost, 5);
  EXPECT_EQ(run.Build().interruptions.at(0).t_detect, 229 * kSecond);
}

TEST(InferredSteps, OfARunningJobAreAtRiskSinceItsLastCheckpoint) {
  RunBuilder run;
  Silent(run);
  EXPECT_NE(run.Now(180).Story().find("checkpoint_save 160-161 | at_risk 161-180"), std::string::npos)
      << run.Story();
  EXPECT_NE(run.Now(600).Story().find("checkpoint_save 160-161 | unobserved.allocated 161-600"),
            std::string::npos)
      << run.Story();
}

TEST(InferredSteps, AreNoneWhereOneCheckpointAloneTellsNoRate) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(5)
      .Ready(10)
      .TaskStarts(12, 0)
      .File(20, 70, 73)
      .TaskExits(90, 0, 0)
      .Ended(91, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(AfterLaunch(RunBuilder::Tell(timeline)), "unobserved.allocated 12-90 | teardown 90-91");
  EXPECT_EQ(TakeAccount(timeline).goodput.runtime, std::nullopt);
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].evidence, Evidence::kFile);
}

TEST(InferredSteps, WhereItWentOnFromIsNotGuessed) {
  RunBuilder run;
  // A run that was not recorded reached step 5000.
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.File(5020, 70, 73)
      .File(5050, 133, 140)
      .File(5060, 160, 161)
      .TaskExits(161, 0, 0)
      .Ended(162, "COMPLETED");
  EXPECT_EQ(AfterLaunch(run.Story()).find("unobserved.allocated 12-70 | checkpoint_save 70-73 | productive"),
            0U)
      << run.Story();
}

TEST(InferredSteps, SrunsOneAfterTheOtherAreStartsOfTheProgram) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.File(20, 70, 73).File(50, 133, 140).TaskKilled(150, 0, SIGKILL);
  attempt.TaskStarts(152, 1)
      .File(60, 180, 181)
      .File(80, 221, 222)
      .TaskExits(222, 1, 0)
      .Ended(223, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(AfterLaunch(RunBuilder::Tell(timeline)),
            "startup 12-30 | productive 30-70 | checkpoint_save 70-73 | productive 73-133 | checkpoint_save "
            "133-140 | lost_work 140-150 | launch 150-152 | startup 152-160 | productive 160-180 | "
            "checkpoint_save 180-181 | productive 181-221 | checkpoint_save 221-222 | teardown 222-223");
}

TEST(CheckpointFiles, CoverTheStepsOfAProgramThatMarksOnlySteps) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 4, 20, 10)
      .Steps(5, 9, 85, 10)
      .File(5, 70, 85)
      .TaskKilled(130, 0, SIGKILL)
      .Ended(131, "FAILED");
  const Timeline timeline = run.Build();
  EXPECT_EQ(AfterLaunch(RunBuilder::Tell(timeline)),
            "startup 12-20 | productive 20-70 | checkpoint_save 70-85 | lost_work 85-130 | teardown 130-131");
  EXPECT_EQ(EvidenceOf(timeline, Bucket::kCheckpointSave), "file ");
}

TEST(CheckpointFiles, TakeNoTimeOfALoopThatWentOnMeanwhile) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 9, 20, 10).File(5, 70, 95).TaskKilled(120, 0, SIGKILL).Ended(121, "FAILED");
  EXPECT_EQ(AfterLaunch(run.Story()),
            "startup 12-20 | productive 20-70 | lost_work 70-120 | teardown 120-121");
}

TEST(CheckpointFiles, OfASaveTheProgramMarkedAreTheSameCheckpoint) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Submitted(0).Started(5).Ready(10).TaskStarts(12, 0);
  attempt.Steps(0, 4, 20, 10).Save(4, 70, 85).Steps(5, 9, 85, 10).File(5, 70.1, 85.2);
  attempt.TaskKilled(130, 0, SIGKILL).Ended(131, "FAILED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].evidence, Evidence::kMark);
}

TEST(StepRate, KnowsWhetherSavesBlockWhereIntervalsDiffer) {
  const auto rate = [](std::vector<SaveInterval> intervals) { return FindStepRate(intervals).value(); };
  EXPECT_EQ(rate({{43, 3, 20}, {67, 7, 30}}).saves_block, true);
  EXPECT_EQ(rate({{40, 3, 20}, {60, 7, 30}}).saves_block, false);
  EXPECT_EQ(rate({{50, 10, 20}, {50, 10, 20}}).saves_block, std::nullopt);
  // The same save after the same number of steps: one jitter more or less on either side says nothing.
  EXPECT_EQ(rate({{4320, 306, 20}, {4321, 307, 20}, {4341, 300, 20}}).saves_block, std::nullopt);
  EXPECT_EQ(rate({{4306, 306, 20}, {4307, 307, 20}, {4342, 335, 20}}).saves_block, std::nullopt);
  EXPECT_FALSE(FindStepRate({}));
  EXPECT_FALSE(FindStepRate({{10, 3, 0}})) << "no step between";
}

// One simulated run, recorded both with marks and without.
class Twins {
 public:
  explicit Twins(std::uint64_t seed) : engine_(seed) {
    each_ = Between(0.5, 20);
    blocks_ = !OneIn(3);
    every_ = static_cast<int>(Between(4, 25));
    even_ = OneIn(3);
    save_ = Between(0.1, 3) * each_;
    const int attempts = static_cast<int>(Between(1, 4.99));
    double at = 0;
    for (int i = 0; i < attempts; ++i) at = Attempt(at, i + 1 == attempts);
  }
  Timeline Told() { return told_.Build(); }
  Timeline Silent() { return silent_.Build(); }

 private:
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  bool OneIn(int n) { return std::uniform_int_distribution<int>(1, n)(engine_) == 1; }

  // Applies `f` to both records.
  template <typename F>
  void Both(const F& f) {
    f(told_.Last());
    f(silent_.Last());
  }

  void Step(double t) { told_.Last().Step(steps_, t); }
  // Returns when the loop continues.
  double Save(double t, bool complete, bool last) {
    const double took = even_ ? save_ : save_ * Between(0.5, 2);
    const std::string name = "iter_" + std::to_string(steps_);
    told_.Last().SaveBegins(steps_, t);
    silent_.Last().FileBegins(t, name, steps_);
    if (!complete) return t + took;
    told_.Last().SaveEnds(steps_, t + took);
    silent_.Last().FileCompletes(t + took, name, steps_);
    saved_ = steps_;
    // An asynchronous save takes almost no time of the loop; the program waits for it before it exits.
    return blocks_ || last ? t + took : t + 0.001;
  }

  double Attempt(double at, bool last) {
    told_.Attempt();
    silent_.Attempt();
    const double began = at + Between(1, 60);
    Both(
        [&](AttemptBuilder& a) { a.Submitted(at).Started(began).Ready(began + 1).TaskStarts(began + 2, 0); });
    double t = began + 2 + Between(1, 100);
    steps_ = saved_;
    // Several intervals, and a part of one.
    const int intervals = static_cast<int>(Between(1, 6.99));
    double busy = 0;  // end of an asynchronous save
    for (int i = 0; i < intervals; ++i) {
      const int count = even_ ? every_ : static_cast<int>(Between(3, 2.0 * every_));
      for (int n = 0; n < count; ++n, t += each_, ++steps_) Step(t);
      while (t < busy) {
        Step(t);
        t += each_;
        ++steps_;
      }
      const double begin = t;
      t = Save(t, true, false);
      busy = blocks_ ? 0 : begin + 3 * save_;
    }
    const int more = static_cast<int>(Between(1, every_));
    for (int n = 0; n < more; ++n, t += each_, ++steps_) Step(t);
    while (t < busy) {
      Step(t);
      t += each_;
      ++steps_;
    }
    if (last && OneIn(2)) {
      // The program finishes its work.
      if (OneIn(2)) t = Save(t, true, true);
      t += 0.2 * each_ * Between(0, 1);
      return Ends(t, 0, "COMPLETED");
    }
    if (OneIn(2)) return Killed(t);
    // It is told to stop during a step, which it finishes.
    Step(t);
    const double told = t + each_ * Between(0.05, 0.95);
    Both([&](AttemptBuilder& a) { a.Signal(told, SIGTERM, true); });
    t += each_;
    ++steps_;
    if (!OneIn(3)) t = Save(t, !OneIn(4), true);
    return Ends(t + Between(0.01, 2), 0, last ? "COMPLETED" : "REQUEUED");
  }

  double Killed(double t) {
    Step(t);
    t += each_ * Between(0.05, 0.95);
    Both([&](AttemptBuilder& a) { a.TaskKilled(t, 0, SIGKILL).Ended(t + 1, "FAILED"); });
    return t + 1;
  }
  double Ends(double t, int code, const std::string& state) {
    Both([&](AttemptBuilder& a) { a.TaskExits(t, 0, code).Ended(t + 1, state); });
    return t + 1;
  }

  std::mt19937_64 engine_;
  RunBuilder told_;
  RunBuilder silent_;
  double each_ = 0;  // duration of a step
  double save_ = 0;  // duration of a save
  bool blocks_ = true;
  bool even_ = false;  // saves take equally long and are equally many steps apart
  int every_ = 0;
  std::int64_t steps_ = 0;  // completed
  std::int64_t saved_ = 0;  // in the last complete checkpoint
};

TEST(InferredSteps, AreTheInstrumentedTwinsWithinAPercentOrTheirRangeHasIt) {
  std::uint64_t exact = 0;
  const std::uint64_t cases = Cases(2000);
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    Twins twins(seed);
    const Timeline told = twins.Told();
    const Timeline silent = twins.Silent();
    const Ns wall = told.end - told.begin;
    ASSERT_EQ(silent.end - silent.begin, wall);
    const Ns percent = wall / 100;
    const Ns open = Of(silent, Bucket::kUnobserved);
    Ns sum = 0;
    for (const Bucket bucket : AllBuckets()) {
      sum += Of(silent, bucket);
      if (bucket == Bucket::kUnobserved) continue;
      EXPECT_GE(Of(told, bucket), Of(silent, bucket) - percent) << BucketName(bucket);
      EXPECT_LE(Of(told, bucket), Of(silent, bucket) + open + percent) << BucketName(bucket);
    }
    EXPECT_EQ(sum, wall);
    if (open <= percent) ++exact;
    if (HasFailure()) {
      FAIL() << "seed " << seed << "\ntold   " << RunBuilder::Tell(told) << "\nsilent "
             << RunBuilder::Tell(silent);
    }
  }
  EXPECT_GT(exact * 2, cases) << "a range is for those that need it";
}

}  // namespace
}  // namespace goodput
