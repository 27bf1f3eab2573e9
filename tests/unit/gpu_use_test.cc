// What GPUs did in each bucket, from what nodes measured now and then, and what steps used of their nodes.
#include "tools/accounting/timeline/gpu_use.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/host_use.h"

namespace goodput {
namespace {

GpuUseSpan UseSpan(double from, double to, std::int64_t gpus, std::optional<std::int64_t> busy,
                   std::optional<std::int64_t> tensor = std::nullopt,
                   std::optional<std::int64_t> energy_mj = std::nullopt) {
  GpuUseSpan span;
  span.begin = At(from);
  span.end = At(to);
  span.gpus = gpus;
  span.busy = busy;
  span.tensor = tensor;
  span.energy_mj = energy_mj;
  return span;
}

// Eight GPUs: starts for 10 s, trains in five steps of 10 s, of which a save keeps two, and fails at 60.
RunBuilder& LosesThreeSteps(RunBuilder& run) {
  run.Attempt().Submitted(0).Started(0).Gpus(8).Ready(0).TaskStarts(0, 0).Steps(1, 5, 10, 10);
  run.Last().Save(2, 29, 30).TaskExits(60, 0, 1).Ended(60, "FAILED");
  return run;
}

TEST(GpuUse, EachBucketHasWhatWasMeasuredInItsTime) {
  RunBuilder run;
  GpuUseSeries& series = LosesThreeSteps(run).Last().facts.gpu_use;
  series.Add(UseSpan(0, 10, 8, 500, 0, 8'000'000));           // 100 W each
  series.Add(UseSpan(10, 30, 8, 9'500, 4'000, 112'000'000));  // 700 W each
  series.Add(UseSpan(30, 50, 8, 9'000, 3'000, 96'000'000));   // 600 W; nothing is known from 50 on
  series.SeeMemory(70'000, 81'559);
  const Account account = run.Count();
  ASSERT_TRUE(account.gpu_use);
  const GpuUse& use = *account.gpu_use;
  EXPECT_EQ(use.Of(Bucket::kProductive).measured, GpuNs{8} * 19 * kSecond);
  EXPECT_DOUBLE_EQ(*BusyShare(use.Of(Bucket::kProductive)), 0.95);
  EXPECT_DOUBLE_EQ(*TensorShare(use.Of(Bucket::kProductive)), 0.4);
  EXPECT_DOUBLE_EQ(*EnergyJ(use.Of(Bucket::kProductive)), 19 * 8 * 700);
  EXPECT_EQ(use.Of(Bucket::kLostWork).measured, GpuNs{8} * 20 * kSecond) << "of 30 s";
  EXPECT_EQ(use.Of(Bucket::kLostWork).busy, GpuNs{8} * 18 * kSecond);
  EXPECT_DOUBLE_EQ(*BusyShare(use.Of(Bucket::kCheckpointSave)), 0.95);
  EXPECT_DOUBLE_EQ(*EnergyJ(use.total), 8000 + 112'000 + 96'000) << "nothing of it is lost between buckets";
  EXPECT_FALSE(BusyShare(use.Of(Bucket::kTeardown))) << "not measured is not 0";
  EXPECT_EQ(use.memory_mib, 70'000);
  EXPECT_EQ(use.memory_of_mib, 81'559);
  // 19 s of 8 GPUs at 700 W, over two steps.
  const GpuNs productive = account.buckets[static_cast<std::size_t>(Bucket::kProductive)].gpu_ns;
  EXPECT_DOUBLE_EQ(*EnergyOfKeptStepJ(use, productive, 2), 19 * 8 * 700 / 2.0);
}

TEST(GpuUse, EnergyOfAStepNeedsMostOfTheProductiveTime) {
  GpuUse use;
  GpuUseSum& sum = use.of.at(static_cast<std::size_t>(Bucket::kProductive));
  sum.energy_of = GpuNs{90} * kSecond;
  sum.energy_mj = 90'000;  // 1 W
  EXPECT_DOUBLE_EQ(*EnergyOfKeptStepJ(use, GpuNs{100} * kSecond, 10), 10);
  EXPECT_FALSE(EnergyOfKeptStepJ(use, GpuNs{101} * kSecond, 10));
  EXPECT_FALSE(EnergyOfKeptStepJ(use, GpuNs{100} * kSecond, 0));
  EXPECT_FALSE(EnergyOfKeptStepJ(use, 0, 10));
}

TEST(GpuUse, WithoutMeasurementsNothingIsSaid) {
  RunBuilder run;
  EXPECT_FALSE(LosesThreeSteps(run).Count().gpu_use);
}

TEST(GpuUse, WhatIsNotKnownIsInNoShare) {
  GpuUseSeries series;
  series.Add(UseSpan(0, 10, 1, 10'000));
  series.Add(UseSpan(10, 20, 1, std::nullopt, 5'000));
  series.Add(UseSpan(20, 30, 1, std::nullopt));
  const GpuUseSum sum = series.Sum(At(0), At(30));
  EXPECT_DOUBLE_EQ(*BusyShare(sum), 1);
  EXPECT_DOUBLE_EQ(*TensorShare(sum), 0.5);
  EXPECT_FALSE(EnergyJ(sum));
  EXPECT_EQ(sum.measured, GpuNs{20} * kSecond);
}

TEST(GpuUse, ImpossibleSpansAreLeftOut) {
  GpuUseSeries series;
  series.Add(UseSpan(0, 10, 0, 1));
  series.Add(UseSpan(0, 10, -1, 1));
  series.Add(UseSpan(0, 10, 1 << 20, 1));
  series.Add(UseSpan(0, 10, 1, 10'001));
  series.Add(UseSpan(0, 10, 1, 1, -1));
  series.Add(UseSpan(0, 10, 1, 1, 1, -5));
  series.Add(UseSpan(10, 10, 1, 1));
  series.Add(UseSpan(0, 86'401, 1, 1));
  series.SeeMemory(90, 80);
  EXPECT_TRUE(series.empty());
  series.SeeMemory(70, std::nullopt);
  series.SeeMemory(60, 80);
  EXPECT_EQ(series.memory_mib(), 70);
  EXPECT_FALSE(series.memory_of_mib());
}

// However it is cut, nothing is lost and nothing is twice; and a series that had to coarsen has the same sum.
TEST(GpuUse, SumsAreExactHoweverTimeIsCut) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  GpuUseSeries series;
  GpuNs busy_of = 0;
  GpuNs energy = 0;
  for (int i = 0; i < 2000; ++i) {
    const Ns begin = At(0) + below(30 * 86'400) * kSecond + below(kSecond);
    GpuUseSpan span;
    span.begin = begin;
    span.end = begin + 1 + below(3600) * kSecond + below(kSecond);
    span.gpus = 1 + below(16);
    span.busy = below(10'001);
    span.energy_mj = below(1'000'000'007);
    busy_of += static_cast<GpuNs>(span.end - span.begin) * span.gpus;
    energy += *span.energy_mj;
    series.Add(span);
  }
  const Ns end = At(31 * 86'400);
  const GpuUseSum whole = series.Sum(At(0), end);
  EXPECT_TRUE(whole.busy_of == busy_of);
  EXPECT_TRUE(whole.energy_mj == energy);
  GpuUseSum parts;
  for (Ns at = At(0); at < end;) {
    const Ns next = std::min(end, at + 1 + below(7'200) * kSecond + below(kSecond));
    parts.Add(series.Sum(at, next));
    at = next;
  }
  EXPECT_TRUE(parts.busy_of == whole.busy_of);
  EXPECT_TRUE(parts.busy == whole.busy);
  EXPECT_TRUE(parts.energy_mj == whole.energy_mj);
  GpuUseSeries twice;
  twice.Add(UseSpan(0, 10, 1, 1, 1, 1));
  twice.Add(series);
  EXPECT_TRUE(twice.Sum(At(0), end).energy_mj == energy + 1);
}

TEST(GpuUse, ALongRunHasCoarserPiecesAndTheSameSums) {
  GpuUseSeries series;
  constexpr int kMinutes = 60 * 1440;  // in seconds these are more than kMostPieces
  for (int i = 0; i < kMinutes; ++i) series.Add(UseSpan(i * 60.0, i * 60 + 60.0, 8, 5'000, 1, 60));
  const GpuUseSum sum = series.Sum(At(0), At(kMinutes * 60.0));
  EXPECT_TRUE(sum.energy_mj == GpuNs{60} * kMinutes);
  EXPECT_TRUE(sum.busy == GpuNs{4} * 60 * kMinutes * kSecond);
  // A piece is at most two minutes long, so an hour is known as well as this.
  EXPECT_NEAR(*EnergyJ(series.Sum(At(7200), At(10'800))), 3.6, 0.24);
}

HostUse OfStep(std::int64_t cpu_s, std::optional<std::int64_t> peak, std::optional<std::int64_t> rss) {
  HostUse use;
  use.measured = 1;
  use.cpu_us = cpu_s * 1'000'000;
  use.waited_only = !peak;
  use.memory_peak = peak;
  use.largest_rss = rss;
  return use;
}

TEST(HostUse, IsAddedUpOverNodesAndAttempts) {
  RunBuilder run;
  AttemptFacts& first = run.Attempt().Submitted(0).Started(0).Ended(100, "NODE_FAIL").facts;
  first.cpus = 4;
  first.nodes = 2;
  first.memory_bytes = 2000;
  first.steps_on_nodes = 3;
  HostUse reads = OfStep(10, 500, 50);
  reads.read_bytes = 5;
  AddUse(reads, first.host_use);
  AddUse(OfStep(20, 700, 60), first.host_use);
  AttemptFacts& second = run.Attempt().Submitted(110).Started(200).Ended(250, "COMPLETED").facts;
  second.cpus = 8;
  second.nodes = 1;
  second.memory_bytes = 3001;
  second.steps_on_nodes = 1;
  AddUse(OfStep(30, 600, 90), second.host_use);
  const std::optional<HostUseTotal> total = SumHostUse(run.Facts());
  ASSERT_TRUE(total);
  EXPECT_EQ(total->steps, 4);
  EXPECT_EQ(total->measured, 3);
  EXPECT_DOUBLE_EQ(*total->cpu_s, 60);
  EXPECT_DOUBLE_EQ(*total->cpu_given_s, 4 * 100 + 8 * 50);
  EXPECT_FALSE(total->waited_only);
  EXPECT_EQ(total->memory_peak, 700);
  EXPECT_EQ(total->memory_given, 1000) << "whole bytes of the attempt with the peak, on one of its nodes";
  EXPECT_EQ(total->largest_rss, 90);
  EXPECT_EQ(total->read_bytes, 5);
  EXPECT_FALSE(total->written_bytes);
  second.cpus.reset();
  second.host_use.waited_only = true;
  EXPECT_FALSE(SumHostUse(run.Facts())->cpu_given_s) << "of one attempt it is not known";
  EXPECT_TRUE(SumHostUse(run.Facts())->waited_only);
  second.host_use = {};
  EXPECT_DOUBLE_EQ(*SumHostUse(run.Facts())->cpu_given_s, 400) << "of attempts with measured steps";
  first.host_use = {};
  EXPECT_FALSE(SumHostUse(run.Facts()));
}

}  // namespace
}  // namespace goodput
