// The proof in a report: steps by number, allocated time to the second, and the difference from Google's
// definition.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/cases.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/allocation_check.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/google_difference.h"
#include "tools/accounting/timeline/kept_steps_check.h"
#include "tools/accounting/timeline/sensitivity.h"

namespace goodput {
namespace {

// Ten steps of ten seconds from 20 on; the attempt is killed in the last one.
AttemptBuilder& FailsInStepNine(RunBuilder& run) {
  return run.Attempt()
      .Submitted(0)
      .Started(10)
      .Ready(12)
      .TaskStarts(15, 0)
      .Steps(0, 9, 20, 10)
      .TaskKilled(115, 0, 9)
      .Ended(116, "NODE_FAIL");
}
// The same job again, from 120 to 210.
AttemptBuilder& ComesBackAt(RunBuilder& run, std::int64_t step) {
  return run.Attempt()
      .Submitted(116)
      .Eligible(116)
      .Started(120)
      .Ready(122)
      .TaskStarts(130, 0)
      .Steps(step, 11, 140, 10)
      .TaskExits(210, 0, 0)
      .Ended(210, "COMPLETED");
}

TEST(Ledger, EachNumberOnceHoweverOftenItWasRun) {
  RunBuilder run;
  FailsInStepNine(run);
  ComesBackAt(run, 5);
  const Ledger ledger = ReadLedger(run.Build());
  EXPECT_TRUE(ledger.holds());
  EXPECT_EQ(InWords(ledger), "12 kept = steps 0 to 11, each once");
}

TEST(Ledger, NamesTheNumbersNobodyMarked) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Srun(0, 15, 100, 0).Steps(0, 3, 20, 10).Ended(100, "FAILED");
  run.Attempt().Submitted(100).Started(110).Srun(0, 115, 200, 0).Steps(7, 9, 120, 10).Ended(200, "COMPLETED");
  const Ledger ledger = ReadLedger(run.Build());
  EXPECT_FALSE(ledger.holds());
  ASSERT_EQ(ledger.missing.size(), 1U);
  EXPECT_EQ(ledger.missing[0].first, 4);
  EXPECT_EQ(ledger.missing[0].last, 6);
  EXPECT_EQ(InWords(ledger), "7 kept of steps 0 to 9; no record that 4 to 6 began");
}

TEST(Ledger, NamesTheNumbersKeptTwice) {
  Timeline timeline;
  timeline.steps.kept = 15;
  Incarnation incarnation;
  incarnation.first_step = 0, incarnation.kept_step = 9;
  timeline.incarnations.push_back(incarnation);
  incarnation.first_step = 8, incarnation.kept_step = 12;
  timeline.incarnations.push_back(incarnation);
  const Ledger ledger = ReadLedger(timeline);
  EXPECT_FALSE(ledger.holds());
  EXPECT_EQ(InWords(ledger), "15 kept of steps 0 to 12; kept twice: 8 to 9");
}

TEST(Ledger, NamesACountThatIsNotTheNumbers) {
  Timeline timeline;
  timeline.steps.kept = 9;
  EXPECT_FALSE(ReadLedger(timeline).holds());
  Incarnation incarnation;
  incarnation.first_step = 0, incarnation.kept_step = 9;
  timeline.incarnations.push_back(incarnation);
  EXPECT_EQ(InWords(ReadLedger(timeline)), "9 kept of steps 0 to 9, a range of 10");
}

TEST(Ledger, OfNoneOrOneStep) {
  EXPECT_TRUE(ReadLedger(Timeline{}).holds());
  EXPECT_EQ(InWords(ReadLedger(Timeline{})), "no step kept");
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Srun(0, 0, 20, 0).Step(5, 10).Ended(20, "COMPLETED");
  EXPECT_EQ(InWords(ReadLedger(run.Build())), "1 kept = step 5, once");
}

TEST(Allocated, IsWhatTheBucketsHaveToTheNanosecond) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(16);
  ComesBackAt(run, 5).Gpus(8).Suspended(150, 155);
  const AllocatedTime allocated = ReadAllocatedTime(run.Build());
  EXPECT_TRUE(allocated.agrees());
  EXPECT_TRUE(allocated.told == GpuNs{106 * 16 + 90 * 8} * kSecond);
  EXPECT_EQ(InWords(allocated), "2416 GPU-s according to sacct = 48 provisioning + 40 suspended + 2328 up");
}

TEST(Allocated, WithoutGpusItIsSeconds) {
  RunBuilder run;
  FailsInStepNine(run);
  EXPECT_EQ(InWords(ReadAllocatedTime(run.Build())), "106 s according to sacct = 2 provisioning + 104 up");
}

TEST(Allocated, ARunningAttemptIsAllocatedUntilNow) {
  RunBuilder run;
  run.Now(50.25).Attempt().Submitted(0).Started(10).Gpus(8).Steps(0, 3, 20, 10).facts.evidence =
      Evidence::kScheduler;
  EXPECT_EQ(InWords(ReadAllocatedTime(run.Build())),
            "322 GPU-s according to the controller = 0 provisioning + 322 up");
}

TEST(Allocated, AResizedAttemptHasTheGpusItHeldThen) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(8).facts.resizes.push_back({At(60), 16});
  const AllocatedTime allocated = ReadAllocatedTime(run.Build());
  EXPECT_TRUE(allocated.agrees());
  EXPECT_TRUE(allocated.told == GpuNs{50 * 16 + 56 * 8} * kSecond);
}

TEST(Allocated, WhatAWindowLeavesOutIsNamed) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(8);
  Timeline timeline = run.Build();
  ClipTimeline(timeline, At(50), At(100));
  EXPECT_EQ(InWords(ReadAllocatedTime(timeline)),
            "848 GPU-s according to sacct; the buckets have 400 = 0 provisioning + 400 up; -448: outside the "
            "selected time");
}

TEST(Allocated, TwoAttemptsAtOnceAreCountedOnce) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(8);
  run.Attempt(2).Submitted(0).Started(100).Ended(150, "COMPLETED").Gpus(8);
  const AllocatedTime allocated = ReadAllocatedTime(run.Build());
  ASSERT_EQ(allocated.differences.size(), 1U);
  EXPECT_TRUE(allocated.differences[0].gpu_ns == -GpuNs{16 * 8} * kSecond);
}

TEST(Allocated, NodesThatBootBeforeTheStartAreNamed) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(8).facts.allocated = At(4);
  const AllocatedTime allocated = ReadAllocatedTime(run.Build());
  ASSERT_EQ(allocated.differences.size(), 1U);
  EXPECT_TRUE(allocated.differences[0].gpu_ns == GpuNs{6 * 8} * kSecond);
}

double SumOf(const GoogleDifference& difference) {
  double sum = 0;
  for (const GoogleDifference::Part& part : difference.parts) sum += part.fraction;
  return sum;
}

TEST(GoogleDifference, WaitingAndFirstStepsAreTheDifference) {
  RunBuilder run;
  FailsInStepNine(run).Save(2, 49, 50);
  ComesBackAt(run, 5);
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  const std::optional<GoogleDifference> why = ExplainGoogleDifference(timeline, account);
  ASSERT_TRUE(why);
  EXPECT_NEAR(SumOf(*why), *account.definitions.google_api - *account.definitions.rg, 1e-12);
  // P = 119 of A = 192; W = 200, with 2 + 2 of provisioning and 4 of the queue in between. First steps took
  // 10, the others of the first start (79 / 8) 9.875.
  EXPECT_NEAR(why->fraction, (119 - 0.125) / 200 - 119.0 / 192, 1e-12);
  EXPECT_EQ(InWords(*why),
            "google_api is 2.54 points lower than rg: it counts 8.0 s without resources after the first "
            "start (queue_other 4.0 s, provisioning 4.0 s: -2.48) and attributes 0.1 s by which first steps "
            "exceeded the mean to compilation (-0.06)");
}

TEST(GoogleDifference, SecondsAreNotGpuSeconds) {
  RunBuilder run;
  FailsInStepNine(run).Gpus(16);
  ComesBackAt(run, 5).Gpus(8);
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  const std::optional<GoogleDifference> why = ExplainGoogleDifference(timeline, account);
  ASSERT_TRUE(why);
  EXPECT_NEAR(SumOf(*why), why->fraction, 1e-12);
  EXPECT_NE(InWords(*why).find("counts seconds, not GPU-seconds"), std::string::npos);
}

TEST(GoogleDifference, NothingToSayOfTheSame) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Srun(0, 10, 110, 0).Steps(0, 9, 10, 10).Ended(110, "COMPLETED");
  const Timeline timeline = run.Build();
  const std::optional<GoogleDifference> why = ExplainGoogleDifference(timeline, TakeAccount(timeline));
  ASSERT_TRUE(why);
  EXPECT_EQ(InWords(*why), "");
}

TEST(GoogleDifference, WithoutStepsThereIsNoNumberToExplain) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ended(110, "COMPLETED");
  const Timeline timeline = run.Build();
  EXPECT_FALSE(ExplainGoogleDifference(timeline, TakeAccount(timeline)));
}

TEST(Sensitivity, EachRowAnswersOneQuestionOtherwise) {
  RunBuilder run;
  // Step 4 takes 60 s: a stall with the factors 3 and 5, but not with 10. Evaluation takes 5 s; the last 45 s
  // are unknown.
  run.Now(200)
      .Attempt()
      .Submitted(0)
      .Started(0)
      .TaskStarts(0, 0)
      .Steps(0, 4, 0, 10)
      .Step(5, 100)
      .Steps(6, 8, 110, 10)
      .Phase("evaluation", 115, 120)
      .Save(3, 39, 40);
  const std::vector<SensitivityRow> rows = FindSensitivity(run.Facts(), {});
  ASSERT_EQ(rows.size(), 7U);
  const auto row = [&](const std::string& name) -> const SensitivityRow& {
    for (const SensitivityRow& one : rows) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << name;
    return rows.front();
  };
  const SensitivityRow& as_is = row("as_is");
  EXPECT_EQ(as_is.stall, 50 * kSecond);
  EXPECT_EQ(row("stall_factor_3").stall, 50 * kSecond);
  EXPECT_EQ(row("stall_factor_10").stall, 0);
  EXPECT_GT(*row("overhead_productive").goodput.runtime, *as_is.goodput.runtime);
  EXPECT_GT(row("at_risk_lost").lost, as_is.lost);
  EXPECT_EQ(row("at_risk_lost").kept, as_is.kept);
  EXPECT_GT(*row("unobserved_productive").goodput.runtime, *as_is.goodput.runtime);
  EXPECT_EQ(*row("unobserved_lost").goodput.runtime, *as_is.goodput.runtime);
  for (const SensitivityRow& one : rows) {
    EXPECT_LE(*one.goodput.runtime, as_is.goodput.runtime_range->second + 0.1) << one.name;
    EXPECT_EQ(*one.goodput.scheduling, *as_is.goodput.scheduling) << one.name;
  }
}

// Properties of any run.

// Attempts of any size, one after the other or overlapping, which train from any step on.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : engine_(seed) {
    double t = 0;
    const int attempts = Pick(1, 4);
    for (int i = 0; i < attempts; ++i) {
      t += Pick(-30, 100);
      AddAttempt(std::max(0.0, t), i + 1 == attempts);
      t += Pick(50, 300);
    }
    run_.Now(2000.5);
  }
  RunBuilder& run() { return run_; }
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

 private:
  void AddAttempt(double submit, bool last) {
    AttemptBuilder& attempt = run_.Attempt(Pick(1, 2)).Submitted(submit).Gpus(Pick(0, 2) * 8);
    if (Pick(1, 8) == 1) return;
    const double start = submit + Pick(0, 20);
    attempt.Started(start);
    if (Pick(1, 6) == 1) attempt.facts.allocated = At(submit);
    if (Pick(1, 2) == 1) attempt.Ready(start + Pick(0, 5));
    double t = start + Pick(5, 20);
    attempt.TaskStarts(t, 0);
    int step = Pick(0, 20);
    const int stride = Pick(1, 3);
    for (int n = Pick(0, 15); n > 0; --n) {
      attempt.Step(step, t);
      step += stride;
      t += Pick(1, 20) == 1 ? 200 : Pick(8, 12);
      if (Pick(1, 5) == 1) attempt.Save(step, t - 1, t);
    }
    if (Pick(1, 6) == 1) attempt.Suspended(start + 3, start + 9);
    if (Pick(1, 6) == 1) attempt.facts.resizes.push_back({At(start + 20), 24});
    if (last && Pick(1, 2) == 1) return;
    const bool completed = Pick(1, 2) == 1;
    attempt.TaskExits(t, 0, completed ? 0 : 1).Ended(t + Pick(0, 3), completed ? "COMPLETED" : "FAILED");
  }

  std::mt19937_64 engine_;
  RunBuilder run_;
};

TEST(AnyRun, ProvesItself) {
  for (std::uint64_t seed = 1; seed <= Cases(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun random(seed);
    Timeline timeline = random.run().Build();
    for (const bool clipped : {false, true}) {
      if (clipped) ClipTimeline(timeline, At(random.Pick(0, 300)), At(random.Pick(300, 2500)));
      const Ledger ledger = ReadLedger(timeline);
      EXPECT_TRUE(ledger.twice.empty()) << InWords(ledger);
      const auto numbers = [](const std::vector<StepRange>& ranges) {
        std::int64_t count = 0;
        for (const StepRange& range : ranges) count += range.last - range.first + 1;
        return count;
      };
      EXPECT_EQ(ledger.kept + numbers(ledger.missing), numbers(ledger.kept_in));

      const AllocatedTime allocated = ReadAllocatedTime(timeline);
      GpuNs sum = allocated.told;
      for (const AllocatedTime::Difference& difference : allocated.differences) {
        sum += difference.gpu_ns;
        EXPECT_NE(difference.why, "not explained") << InWords(allocated);
      }
      EXPECT_TRUE(sum == allocated.counted());

      const Account account = TakeAccount(timeline);
      if (const auto why = ExplainGoogleDifference(timeline, account)) {
        EXPECT_NEAR(SumOf(*why), *account.definitions.google_api - *account.definitions.rg, 1e-12);
      } else {
        EXPECT_FALSE(account.definitions.google_api && account.definitions.rg);
      }

      Ns stalled = 0;
      for (const Stall& stall : timeline.stalls) {
        EXPECT_LE(stall.last_progress, stall.begin);
        stalled += stall.ns;
      }
      EXPECT_EQ(stalled, account.buckets[static_cast<std::size_t>(Bucket::kStall)].ns);
    }
    if (HasFailure()) return;
  }
}

TEST(Stalls, BeginWithTheLastProgressAndSayHowTheyEnded) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .TaskStarts(0, 0)
      .Steps(0, 4, 0, 10)
      .Steps(5, 6, 100, 10)
      .TaskKilled(300, 0, 9)
      .Ended(300, "FAILED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.stalls.size(), 2U);
  const Stall& first = timeline.stalls[0];
  EXPECT_EQ(first.step, 4);
  EXPECT_EQ(first.last_progress, At(40));
  EXPECT_EQ(first.ns, 50 * kSecond);
  EXPECT_TRUE(first.recovered);
  const Stall& second = timeline.stalls[1];
  EXPECT_EQ(second.step, 6);
  EXPECT_EQ(second.last_progress, At(110));
  EXPECT_EQ(second.ns, 180 * kSecond);
  EXPECT_FALSE(second.recovered);
}

TEST(Stalls, ASaveInOneIsNoPartOfIt) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .TaskStarts(0, 0)
      .Steps(0, 4, 0, 10)
      .Save(4, 49, 70)
      .Steps(5, 9, 200, 10)
      .TaskExits(250, 0, 0)
      .Ended(250, "COMPLETED");
  const Timeline timeline = run.Build();
  ASSERT_EQ(timeline.stalls.size(), 1U);
  EXPECT_EQ(timeline.stalls[0].last_progress, At(70));
  EXPECT_EQ(timeline.stalls[0].ns, (160 - 21 - 10) * kSecond);
}

}  // namespace
}  // namespace goodput
