// A run as time series of Cloud Monitoring: which time is which badput, and that nothing is missing or
// counted twice.
#include "tools/accounting/metrics/workload_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "tests/unit/run_builder.h"

namespace goodput {
namespace {

constexpr const char* kRecovery = "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION";
const Workload kWorkload{"c/ann/llm", "c", "NVIDIA-H100"};

std::optional<WorkloadSeries> Find(const std::vector<WorkloadSeries>& all, const std::string& name,
                                   const MetricLabels& labels = {}) {
  for (const WorkloadSeries& one : all) {
    const bool has_all = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      return std::find(one.labels.begin(), one.labels.end(), label) != one.labels.end();
    });
    if (one.type == "compute.googleapis.com/workload/" + name && has_all) return one;
  }
  return std::nullopt;
}

double Value(const std::vector<WorkloadSeries>& all, const std::string& name,
             const MetricLabels& labels = {}) {
  const std::optional<WorkloadSeries> found = Find(all, name, labels);
  if (!found) return -1;
  const auto* const whole = std::get_if<std::int64_t>(&found->value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(found->value);
}

// Dies with a node after a save, waits, restores, and goes on.
RunBuilder Interrupted() {
  RunBuilder run;
  run.Now(300);
  run.Attempt(7).Submitted(0).Eligible(0).Started(10).Gpus(8).Ready(15);
  run.Last().TaskStarts(18, 0).Phase("init", 18, 20).Phase("data_loading", 20, 23).Steps(0, 9, 30, 10);
  run.Last().Save(4, 80, 80.5).TaskKilled(128, 0, 9).Ended(130.000000001, "NODE_FAIL");
  run.Attempt(8).Submitted(150).Eligible(150).Started(170).Gpus(8).Ready(175);
  run.Last().TaskStarts(180, 0).Restore(4, 182, 186).Steps(5, 14, 190, 10).Save(14, 290, 291);
  run.Last().TaskExits(292, 0, 0).Ended(293, "COMPLETED");
  return run;
}

Ns Sum(const WorkloadTimes& times) {
  Ns sum = times.goodput;
  for (const auto& [source, ns] : times.badput) sum += ns;
  return sum;
}

TEST(WorkloadSeries, BadputIsTheExactComplementOfGoodput) {
  RunBuilder run = Interrupted();
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  const auto bucket = [&](Bucket one) { return account.buckets[static_cast<std::size_t>(one)].ns; };
  const WorkloadTimes times = TimesOfWorkload(timeline, timeline.begin, timeline.end);
  EXPECT_EQ(times.elapsed, timeline.end - timeline.begin);
  EXPECT_EQ(Sum(times), times.elapsed);
  EXPECT_EQ(times.goodput, bucket(Bucket::kProductive));
  EXPECT_EQ(times.badput.at("UNPRODUCTIVE_CHECKPOINT_SAVE_TIME"), bucket(Bucket::kCheckpointSave));
  EXPECT_EQ(times.badput.at("WASTED_PROGRESS_FROM_DISRUPTION"), bucket(Bucket::kLostWork));
  EXPECT_GT(bucket(Bucket::kLostWork), 0);
  for (const double begin : {-5.0, 0.0, 12.3, 80.25, 129.0})
    for (const double end : {12.3, 130.0, 292.5, 400.0}) {
      const WorkloadTimes part = TimesOfWorkload(timeline, At(begin), At(end));
      EXPECT_EQ(Sum(part), part.elapsed);
      EXPECT_EQ(part.elapsed, std::max<Ns>(0, std::min(At(end), timeline.end) - std::max(At(begin), At(0))));
    }
}

TEST(WorkloadSeries, SourcesHaveGooglesNamesWhereTheyMeanTheSame) {
  RunBuilder run = Interrupted();
  const Timeline timeline = run.Build();
  const WorkloadTimes times = TimesOfWorkload(timeline, timeline.begin, timeline.end);
  EXPECT_EQ(times.badput.at("TPU_INITIALIZATION"), 2 * kSecond);
  EXPECT_EQ(times.badput.at("DATA_LOADING_SYNC"), 3 * kSecond);
  EXPECT_EQ(times.badput.at("UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME"), 4 * kSecond);
  // The first wait is no recovery; that after the failure is, as are the end before it and the new nodes.
  EXPECT_EQ(times.badput.at("CUSTOM_BADPUT_EVENTS.QUEUE_OTHER"), 10 * kSecond);
  EXPECT_EQ(times.badput.at("CUSTOM_BADPUT_EVENTS.PROVISIONING"), 5 * kSecond);
  EXPECT_GE(times.badput.at(kRecovery), At(175) - At(130));
  EXPECT_EQ(times.badput.at("CUSTOM_BADPUT_EVENTS.TEARDOWN"), kSecond) << "of the end without a failure";
  EXPECT_EQ(times.badput.at("CUSTOM_BADPUT_EVENTS.LAUNCH"), 8 * kSecond);
}

TEST(WorkloadSeries, SourcesDoNotComeAndGo) {
  RunBuilder run = Interrupted();
  RunBuilder waiting;
  waiting.Attempt().Submitted(0).Eligible(0);
  const auto sources = [](const Timeline& timeline) {
    std::set<std::string> names;
    for (const auto& [name, ns] : TimesOfWorkload(timeline, timeline.begin, timeline.end).badput)
      names.insert(name);
    return names;
  };
  EXPECT_EQ(sources(run.Build()), sources(waiting.Build()));
  EXPECT_EQ(sources(run.Build()).size(), 21U);
}

TEST(WorkloadSeries, WhatNobodySawIsBadputOther) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Started(10)
      .Gpus(8)
      .Ready(10)
      .Srun(0, 10, 110, 0)
      .Ended(110, "COMPLETED");
  const Timeline timeline = run.Build();
  const std::vector<WorkloadSeries> all = SeriesOfWorkload(kWorkload, timeline);
  EXPECT_EQ(Value(all, "goodput_time"), 0);
  EXPECT_EQ(Value(all, "badput_time", {{"badput_source", "OTHER"}}), 100);
  for (const char* unknown : {"max_productive_steps", "performance", "step_time_deviation"})
    EXPECT_FALSE(Find(all, unknown)) << unknown;
}

TEST(WorkloadSeries, HoldDoesNotCount) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(50).Started(60).Gpus(8).Ready(60);
  run.Last().Srun(0, 60, 160, 0).Ended(160, "COMPLETED");
  const Timeline timeline = run.Build();
  const WorkloadTimes times = TimesOfWorkload(timeline, timeline.begin, timeline.end);
  EXPECT_EQ(times.elapsed, 110 * kSecond);
  EXPECT_EQ(Sum(times), times.elapsed);
}

TEST(WorkloadSeries, SeriesOfARun) {
  RunBuilder run = Interrupted();
  const Timeline timeline = run.Build();
  const std::vector<WorkloadSeries> all = SeriesOfWorkload(kWorkload, timeline);
  const double goodput = Value(all, "goodput_time", {{"goodput_source", "TOTAL"}});
  EXPECT_EQ(Value(all, "total_elapsed_time", {{"window_type", "cumulative"}}), 293);
  EXPECT_EQ(Value(all, "disruptions", {{"window_type", "cumulative"}}), 1);
  EXPECT_EQ(Value(all, "max_productive_steps"), 14);
  EXPECT_EQ(Value(all, "performance"), 10);
  EXPECT_NEAR(Value(all, "step_time_deviation"), std::abs(goodput / 15 - 10), 1e-9);
  for (const char* window : {"86400", "259200", "432000"}) {
    EXPECT_NEAR(
        Value(all, "interval_goodput", {{"goodput_source", "TOTAL"}, {"rolling_window_size", window}}),
        100 * goodput / 293, 1e-9);
    double sum = Value(all, "interval_goodput", {{"rolling_window_size", window}});
    for (const WorkloadSeries& one : all) {
      const std::pair<std::string, std::string> label{"rolling_window_size", window};
      if (absl::EndsWith(one.type, "interval_badput") &&
          std::find(one.labels.begin(), one.labels.end(), label) != one.labels.end())
        sum += std::get<double>(one.value);
    }
    EXPECT_NEAR(sum, 100, 1e-9);
  }
  std::set<std::string> different;
  for (const WorkloadSeries& one : all) {
    different.insert(SeriesLine(kWorkload, {one.type, one.labels, 0.0}));
    const auto has = [&](const char* name, const char* value) {
      return std::count(one.labels.begin(), one.labels.end(),
                        std::pair<std::string, std::string>(name, value));
    };
    EXPECT_EQ(has("cluster_name", "c"), 1);
    EXPECT_EQ(has("accelerator_type", "NVIDIA-H100"), absl::EndsWith(one.type, "/performance") ? 0 : 1);
  }
  EXPECT_EQ(different.size(), all.size());
}

TEST(WorkloadSeries, AWindowHasOnlyItsTime) {
  RunBuilder run = Interrupted();
  Timeline timeline = run.Build();
  // The day begins with step 10.
  timeline.now = At(240) + 86'400 * kSecond;
  const std::vector<WorkloadSeries> all = SeriesOfWorkload(kWorkload, timeline);
  EXPECT_NEAR(Value(all, "interval_goodput", {{"rolling_window_size", "86400"}}), 100 * 51.0 / 53, 1e-9)
      << "until its task exits, without the save";
  EXPECT_LT(Value(all, "interval_goodput", {{"rolling_window_size", "259200"}}), 60);
  timeline.now += 86'400 * kSecond;
  EXPECT_FALSE(
      Find(SeriesOfWorkload(kWorkload, timeline), "interval_goodput", {{"rolling_window_size", "86400"}}))
      << "of a window without the run nothing is known";
}

// Half of the slices for a day: 50 % by these two, 100 % by goodput_time.
TEST(WorkloadSeries, AnElasticRunHasTheEfficiencyOfItsSlices) {
  constexpr double kDay = 86'400;
  RunBuilder run;
  run.Now(2 * kDay);
  run.Attempt().Submitted(0).Started(0).Gpus(8).Ready(0).Srun(0, 0, 2 * kDay, 0).Steps(0, 47, 0, 3600);
  run.Last().Ended(2 * kDay, "COMPLETED");
  EXPECT_FALSE(Find(SeriesOfWorkload(kWorkload, run.Build()), "stepping_slice_efficiency"));
  run.Last().World(0, 4, 16).World(kDay, 8, 8);
  const std::vector<WorkloadSeries> all = SeriesOfWorkload(kWorkload, run.Build());
  const MetricLabels whole{{"window_type", "CUMULATIVE"}, {"rolling_window_size", "0"}};
  const MetricLabels last_day{{"window_type", "INTERVAL"}, {"rolling_window_size", "86400"}};
  EXPECT_DOUBLE_EQ(Value(all, "stepping_slice_efficiency", whole), (0.25 + 1) / 2);
  EXPECT_DOUBLE_EQ(Value(all, "available_slice_efficiency", whole), (0.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(Value(all, "stepping_slice_efficiency", last_day), 1);
  EXPECT_DOUBLE_EQ(Value(all, "goodput_time"), 48 * 3600);
  // One day of records, as in Google's own test: 8 h with 2 of 4 slices, then 4 of which 2 step.
  RunBuilder google;
  google.Attempt().Submitted(0).Started(0).Gpus(2).Ready(0).Srun(0, 0, 32'420, 0).Steps(0, 9, 0, 3242);
  google.Last().Ended(32'420, "COMPLETED").World(0, 2, 4).World(28'800, 2, 4).facts.resizes = {
      {At(28'800), 2}};
  google.Last().Gpus(4);
  const Timeline timeline = google.Build();
  const auto slices = EfficiencyOfSlices(timeline, timeline.begin, timeline.end);
  ASSERT_TRUE(slices);
  EXPECT_DOUBLE_EQ(slices->stepping, 0.5);
  EXPECT_DOUBLE_EQ(slices->available, (28'800 * 0.5 + 3'620 * 1.0) / 32'420);
}

TEST(WorkloadSeries, ARunWithoutTimeHasNone) {
  EXPECT_TRUE(SeriesOfWorkload(kWorkload, Timeline()).empty());
}

TEST(WorkloadSeries, Names) {
  EXPECT_EQ(WorkloadId("east", "ann", "llm", "7"), "east/ann/llm");
  EXPECT_EQ(WorkloadId("east", "ann", "", "7_1"), "east/7_1");
  EXPECT_EQ(WorkloadId("", "ann", "", "7"), "7");
  EXPECT_EQ(AcceleratorType("h100", true), "NVIDIA-H100");
  EXPECT_EQ(AcceleratorType("nvidia_h200_141gb", true), "NVIDIA-H200");
  EXPECT_EQ(AcceleratorType("a100", true), "NVIDIA-A100");
  EXPECT_EQ(AcceleratorType("b200", true), "GPU");
  EXPECT_EQ(AcceleratorType("", true), "GPU");
  EXPECT_EQ(AcceleratorType("", false), "UNKNOWN");
}

TEST(WorkloadSeries, ALineIsAsTheServiceWantsIt) {
  EXPECT_EQ(SeriesLine({"c/\"", "c", "GPU"}, {"t", {{"a", "b\tc"}}, std::int64_t{12}}),
            R"({"workload_id":"c/\"","metric":{"type":"t","labels":{"a":"b\u0009c"}},)"
            R"("valueType":"INT64","value":{"int64Value":"12"}})");
  EXPECT_EQ(SeriesLine({"7", "", ""}, {"t", {}, 0.5}),
            R"({"workload_id":"7","metric":{"type":"t","labels":{}},)"
            R"("valueType":"DOUBLE","value":{"doubleValue":0.5}})");
}

}  // namespace
}  // namespace goodput
