// Metrics for Prometheus: the format, the sums, and the bound on the number of series.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/accounting/metrics/run_metrics.h"

namespace goodput {
namespace {

bool Has(const std::string& text, const std::string& line) {
  return absl::StrContains(Cat("\n", text), Cat("\n", line, "\n"));
}

TEST(Exposition, IsWrittenAsTheFormatWants) {
  MetricText text;
  text.Family("a", "counter", "Of things.");
  text.Counter({{"name", "quo\"te\\ and\nline"}}, 2);
  text.Family("b", "gauge", "Now.");
  text.Gauge({}, 0.25);
  EXPECT_EQ(std::move(text).Finish(),
            "# HELP a Of things.\n# TYPE a counter\na_total{name=\"quo\\\"te\\\\ and\\nline\"} 2\n"
            "# HELP b Now.\n# TYPE b gauge\nb 0.25\n# EOF\n");
}

TEST(Exposition, AHistogramAddsUp) {
  MetricHistogram histogram({1, 10});
  for (const double value : {0.5, 1.0, 5.0, 50.0}) histogram.Observe(value);
  MetricText text;
  text.Family("h", "histogram", "H.");
  text.Histogram({}, histogram);
  const std::string written = std::move(text).Finish();
  for (const char* line : {"h_bucket{le=\"1.0\"} 2", "h_bucket{le=\"10.0\"} 3", "h_bucket{le=\"+Inf\"} 4",
                           "h_count 4", "h_sum 56.5"})
    EXPECT_TRUE(Has(written, line)) << line << "\n" << written;
}

TEST(Exposition, TheOlderTextNamesCountersByTheirSamples) {
  EXPECT_EQ(AsPrometheusText(
                "# HELP a Of a.\n# TYPE a counter\na_total 1\n# HELP b Of b.\n# TYPE b gauge\nb 2\n# EOF\n"),
            "# HELP a_total Of a.\n# TYPE a_total counter\na_total 1\n# HELP b Of b.\n# TYPE b gauge\nb 2\n");
}

TEST(Exposition, CountersDoNotFallAndGaugesMay) {
  const std::string before =
      "a_total{x=\"1\"} 10\nb 10\nh_bucket{le=\"1.0\"} 5\nh_count 7\nh_sum 8.5\n# EOF\n";
  const std::string now =
      "a_total{x=\"1\"} 9\na_total{x=\"2\"} 1\nb 3\nh_bucket{le=\"1.0\"} 6\nh_count 6\nh_sum 8.25\n# EOF\n";
  EXPECT_EQ(
      NeverLower(before, now),
      "a_total{x=\"1\"} 10\na_total{x=\"2\"} 1\nb 3\nh_bucket{le=\"1.0\"} 6\nh_count 7\nh_sum 8.5\n# EOF\n");
  EXPECT_EQ(NeverLower("", now), now);
}

// 2 GPUs: 10 s in the queue, 5 s of provisioning, then 100 s until the end, of which all but 5 s are
// productive.
RunBuilder Trained() {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Started(10)
      .Gpus(2)
      .Ready(15)
      .Srun(0, 15, 115, 0)
      .Steps(0, 9, 20, 9.5)
      .Ended(115, "COMPLETED");
  return run;
}

TEST(RunMetrics, AreTheTimelinesSums) {
  RunBuilder run = Trained();
  const Timeline timeline = run.Build();
  RunMetrics metrics(At(200));
  metrics.Add({"a3", "research", "normal"}, timeline);
  const std::string text = metrics.Text({{"records", 3}});
  for (const char* line :
       {"slurm_goodput_runs_total{partition=\"a3\"} 1",
        "slurm_goodput_bucket_gpu_seconds_total{partition=\"a3\",bucket=\"provisioning\"} 10",
        "slurm_goodput_bucket_seconds_total{partition=\"a3\",bucket=\"provisioning\"} 5",
        "slurm_goodput_queue_wait_seconds_count 1", "slurm_goodput_queue_wait_seconds_sum 10",
        "slurm_goodput_provisioning_seconds_sum 5", "slurm_goodput_running_runs{partition=\"a3\"} 0",
        "slurm_goodput_lost_total{what=\"records\"} 3"})
    EXPECT_TRUE(Has(text, line)) << line << "\n" << text;
  Ns sum = 0;
  for (const Interval& interval : timeline.intervals) sum += interval.end - interval.begin;
  EXPECT_EQ(sum, 115 * kSecond);
  // 100 of 115 seconds were up.
  EXPECT_TRUE(absl::StrContains(
      text, "slurm_goodput_partition_ratio{partition=\"a3\",part=\"scheduling\"} 0.869565217\n"))
      << text;
}

TEST(RunMetrics, HaveWhatGpusDidAndNothingWhereNothingWasMeasured) {
  RunBuilder run = Trained();
  GpuUseSpan span;
  span.begin = At(30);
  span.end = At(50);
  span.gpus = 2;
  span.busy = 7'500;
  span.energy_mj = 20'000'000;
  run.Last().facts.gpu_use.Add(span);
  const Timeline timeline = run.Build();
  RunMetrics metrics(At(200));
  metrics.Add({"a3", "research", "normal"}, timeline);
  const std::string text = metrics.Text({});
  for (const char* line :
       {"slurm_goodput_gpu_busy_measured_gpu_seconds_total{partition=\"a3\",bucket=\"productive\"} 40",
        "slurm_goodput_gpu_busy_gpu_seconds_total{partition=\"a3\",bucket=\"productive\"} 30",
        "slurm_goodput_gpu_energy_joules_total{partition=\"a3\",bucket=\"productive\"} 20000"})
    EXPECT_TRUE(Has(text, line)) << line << "\n" << text;
  EXPECT_FALSE(absl::StrContains(
      text, "slurm_goodput_gpu_busy_gpu_seconds_total{partition=\"a3\",bucket=\"startup\"}"));
  EXPECT_FALSE(
      absl::StrContains(text, "slurm_goodput_gpu_energy_joules_total{partition=\"a3\",bucket=\"startup\"}"));
}

TEST(RunMetrics, AJobWaitsFromWhenItIsEligible) {
  const auto waits = [](double eligible) {
    RunBuilder run;
    run.Attempt().Submitted(0).Eligible(eligible).Started(10).Ready(15).Ended(115, "COMPLETED");
    RunMetrics metrics(At(200));
    metrics.Add({"a3", "", ""}, run.Build());
    return metrics.Text({});
  };
  EXPECT_TRUE(Has(waits(6), "slurm_goodput_queue_wait_seconds_sum 4")) << waits(6);
  EXPECT_TRUE(Has(waits(12), "slurm_goodput_queue_wait_seconds_sum 0")) << "slurmctld sets it up to 2 s late";
}

TEST(RunMetrics, AHoldLowersNoGoodput) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(50).Waits(0, "JobHeldUser").Started(50).Gpus(2).Ready(50);
  run.Last().Srun(0, 50, 100, 0).Steps(0, 4, 50, 10).Ended(100, "COMPLETED");
  RunMetrics metrics(At(200));
  metrics.Add({"a3", "", ""}, run.Build());
  const std::string text = metrics.Text({});
  EXPECT_TRUE(Has(text, "slurm_goodput_partition_ratio{partition=\"a3\",part=\"scheduling\"} 1")) << text;
}

TEST(RunMetrics, WhatIsOpenIsNotCounted) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Gpus(2).Ready(15);
  RunMetrics metrics(At(100));
  metrics.Add({"a3", "", ""}, run.Build());
  // A held job, and one that waits.
  RunBuilder held;
  held.Attempt(2).Submitted(0).State("PENDING").Waits(0, "JobHeldUser");
  metrics.Add({"a3", "", ""}, held.Build());
  RunBuilder pending;
  pending.Attempt(3).Submitted(0).Eligible(0).State("PENDING").Waits(0, "Priority");
  metrics.Add({"a3", "", ""}, pending.Build());
  const std::string text = metrics.Text({});
  EXPECT_TRUE(Has(text, "slurm_goodput_runs_total{partition=\"a3\"} 0"));
  EXPECT_TRUE(Has(text, "slurm_goodput_pending_runs{partition=\"a3\"} 2"));
  EXPECT_TRUE(Has(text, "slurm_goodput_running_runs{partition=\"a3\"} 1"));
  EXPECT_TRUE(Has(text, "slurm_goodput_queue_wait_seconds_count 0"));
}

TEST(RunMetrics, RatiosAreOfTheLastDay) {
  RunBuilder run = Trained();
  RunMetrics metrics(At(2 * 86400));
  metrics.Add({"a3", "research", "normal"}, run.Build());
  const std::string text = metrics.Text({});
  EXPECT_FALSE(absl::StrContains(text, "slurm_goodput_partition_ratio{"));
  EXPECT_TRUE(Has(text, "slurm_goodput_runs_total{partition=\"a3\"} 1"));
}

TEST(RunMetrics, WhatNobodyObservedIsNoGoodputOfZero) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Gpus(2).Ended(100, "COMPLETED");
  RunMetrics metrics(At(200));
  metrics.Add({"a3", "", ""}, run.Build());
  const std::string alone = metrics.Text({});
  for (const char* part : {"runtime", "total"}) {
    const std::string series = Cat("slurm_goodput_partition_ratio{partition=\"a3\",part=\"", part);
    EXPECT_FALSE(absl::StrContains(alone, Cat(series, "\"}"))) << alone;
    EXPECT_TRUE(Has(alone, Cat(series, "_max\"} 1"))) << alone;
  }
  EXPECT_TRUE(Has(alone, "slurm_goodput_partition_ratio{partition=\"a3\",part=\"unobserved\"} 1"));
  RunBuilder trained;
  trained.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .Gpus(2)
      .Srun(0, 0, 100, 0)
      .Steps(0, 9, 0, 10)
      .Ended(100, "COMPLETED");
  metrics.Add({"a3", "", ""}, trained.Build());
  const std::string both = metrics.Text({});
  EXPECT_TRUE(Has(both, "slurm_goodput_partition_ratio{partition=\"a3\",part=\"runtime\"} 0.5")) << both;
  EXPECT_TRUE(Has(both, "slurm_goodput_partition_ratio{partition=\"a3\",part=\"runtime_max\"} 1"));
}

TEST(RunMetrics, AThousandPartitionsAreFiftyOneSeries) {
  RunBuilder run = Trained();
  const Timeline timeline = run.Build();
  RunMetrics metrics(At(200));
  for (int i = 0; i < 1000; ++i) metrics.Add({Cat("p", i), Cat("a", i), Cat("q", i)}, timeline);
  const std::string text = metrics.Text({});
  std::int64_t sum = 0;
  int series = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "slurm_goodput_runs_total{")) continue;
    ++series;
    std::int64_t value = 0;
    ASSERT_TRUE(absl::SimpleAtoi(line.substr(line.rfind(' ') + 1), &value));
    sum += value;
  }
  EXPECT_EQ(series, 51);
  EXPECT_EQ(sum, 1000);
}

TEST(RunMetrics, TheSmallestGroupsBecomeOther) {
  RunMetrics metrics(At(200));
  for (int i = 1; i <= 60; ++i) {
    RunBuilder run = Trained();
    run.Last().Gpus(i);
    metrics.Add({Cat("p", i), "", ""}, run.Build());
  }
  const std::string text = metrics.Text({});
  const auto has = [&](const char* partition) {
    return Has(text, Cat("slurm_goodput_runs_total{partition=\"", partition, "\"} 1"));
  };
  EXPECT_TRUE(has("p60"));
  EXPECT_TRUE(has("p11"));
  EXPECT_FALSE(has("p10"));
  EXPECT_TRUE(Has(text, "slurm_goodput_runs_total{partition=\"other\"} 10"));
}

}  // namespace
}  // namespace goodput
