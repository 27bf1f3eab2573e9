// What dcgm-exporter says, whose GPUs those are, and what is recorded of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/config.h"
#include "tools/goodputd/gpu_use/exporter_text.h"
#include "tools/goodputd/gpu_use/gpu_owners.h"
#include "tools/goodputd/gpu_use/gpu_use_fold.h"

namespace goodput {
namespace {

// A line as dcgm-exporter prints it.
std::string MetricLine(const std::string& metric, int gpu, const std::string& value,
                       const std::string& more = "") {
  return Cat(metric, "{gpu=\"", gpu, "\",UUID=\"GPU-", gpu, "\",pci_bus_id=\"00000000:0", gpu,
             ":00.0\",device=\"nvidia", gpu, "\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"n1\"", more,
             "} ", value, "\n");
}

TEST(ExporterText, ReadsWhatIsNeededAndNothingElse) {
  const std::string text =
      "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n" +
      MetricLine("DCGM_FI_DEV_SM_CLOCK", 0, "1980") + MetricLine("DCGM_FI_DEV_GPU_UTIL", 0, "97") +
      MetricLine("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0, "0.953211") +
      MetricLine("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0, "0.400000") +
      MetricLine("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0, "1234567890123") +
      MetricLine("DCGM_FI_DEV_FB_FREE", 0, "10000") + MetricLine("DCGM_FI_DEV_FB_USED", 0, "71000") +
      MetricLine("DCGM_FI_DEV_FB_RESERVED", 0, "559") + MetricLine("DCGM_FI_DEV_GPU_UTIL", 1, "0");
  const absl::StatusOr<ExporterReading> reading = ParseExporterText(text);
  ASSERT_TRUE(reading.ok()) << reading.status();
  ASSERT_EQ(reading->gpus.size(), 2U);
  const GpuReading& gpu = reading->gpus[0];
  EXPECT_EQ(gpu.uuid, "GPU-0");
  EXPECT_EQ(gpu.index, 0);
  EXPECT_DOUBLE_EQ(*gpu.engine, 0.953211);
  EXPECT_DOUBLE_EQ(*gpu.util, 0.97);
  EXPECT_DOUBLE_EQ(*gpu.tensor, 0.4);
  EXPECT_EQ(gpu.energy_mj, 1'234'567'890'123);
  EXPECT_EQ(gpu.memory_used_mib, 71'000);
  EXPECT_EQ(gpu.memory_free_mib, 10'000);
  EXPECT_EQ(gpu.memory_reserved_mib, 559);
  EXPECT_FALSE(reading->maps_jobs || gpu.partitioned);
  EXPECT_DOUBLE_EQ(*reading->gpus[1].util, 0);
  EXPECT_FALSE(reading->gpus[1].engine);
}

TEST(ExporterText, WhatIsNotKnownIsAbsent) {
  for (const char* value : {"9223372036854775794", "140737488355328.000000", "NaN", "-1", "+Inf"}) {
    const auto reading = ParseExporterText(MetricLine("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0, value) +
                                           MetricLine("DCGM_FI_DEV_GPU_UTIL", 0, value) +
                                           MetricLine("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0, value));
    ASSERT_TRUE(reading.ok()) << value;
    EXPECT_FALSE(reading->gpus[0].energy_mj || reading->gpus[0].util || reading->gpus[0].tensor) << value;
  }
}

TEST(ExporterText, JobsAndPartitionsAreSeen) {
  const auto reading = ParseExporterText(
      MetricLine("DCGM_FI_DEV_GPU_UTIL", 0, "9", ",hpc_job=\"12\"") +
      MetricLine("DCGM_FI_DEV_GPU_UTIL", 0, "9", ",hpc_job=\"13\"") +
      MetricLine("DCGM_FI_DEV_FB_USED", 0, "9", ",hpc_job=\"12\"") +
      MetricLine("DCGM_FI_DEV_GPU_UTIL", 1, "9", ",hpc_job=\"nobody\"") +
      MetricLine("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 2, "0.5", ",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\""));
  ASSERT_TRUE(reading.ok());
  EXPECT_TRUE(reading->maps_jobs);
  EXPECT_EQ(reading->gpus[0].jobs, (std::vector<std::int64_t>{12, 13}));
  EXPECT_EQ(reading->gpus[1].jobs, (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(reading->gpus[2].partitioned);
  EXPECT_FALSE(reading->gpus[2].engine) << "of an instance, not of the GPU";
}

TEST(ExporterText, LabelsMayHaveEscapesAndALineATime) {
  const auto reading = ParseExporterText(
      "DCGM_FI_DEV_GPU_UTIL{ modelName = \"a \\\"b\\\\ } \" , uuid=\"GPU-x\" , } 50 1700000000000\n");
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_EQ(reading->gpus[0].uuid, "GPU-x");
  EXPECT_DOUBLE_EQ(*reading->gpus[0].util, 0.5);
}

TEST(ExporterText, NonsenseIsNamedByItsLine) {
  for (const char* text :
       {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1",
        "DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} much", "DCGM_FI_DEV_GPU_UTIL{UUID=\"a} 1",
        "DCGM_FI_DEV_GPU_UTIL{UUID=\"a\\", "DCGM_FI_DEV_GPU_UTIL 1", "DCGM_FI_DEV_GPU_UTIL{UUID} 1"}) {
    const auto reading = ParseExporterText(Cat("# a comment\n", text, "\n"));
    ASSERT_FALSE(reading.ok()) << text;
    EXPECT_EQ(Message(reading.status()).find("line 2: "), 0U) << reading.status();
  }
  std::string many;
  for (std::size_t i = 0; i <= kMostGpus; ++i)
    many += MetricLine("DCGM_FI_DEV_GPU_UTIL", static_cast<int>(i), "1");
  EXPECT_FALSE(ParseExporterText(many).ok());
  EXPECT_TRUE(ParseExporterText("<html>not an exporter</html>\n")->gpus.empty());
}

ExporterReading FourGpus() {
  ExporterReading reading;
  for (int i = 0; i < 4; ++i) {
    GpuReading& gpu = reading.gpus.emplace_back();
    gpu.uuid = Cat("GPU-", i);
    gpu.index = i;
  }
  return reading;
}

using Owners = std::vector<int>;

TEST(GpuOwners, AJobWithAllGpusHasThem) {
  const ExporterReading reading = FourGpus();
  EXPECT_EQ(OwnersOfGpus(reading, {{7, std::nullopt, ""}, {8, 4, ""}}, false), (Owners{1, 1, 1, 1}));
  EXPECT_EQ(OwnersOfGpus(reading, {{8, 3, ""}}, false), (Owners{-1, -1, -1, -1})) << "which three?";
  EXPECT_EQ(OwnersOfGpus(reading, {{8, 4, ""}, {9, 1, ""}}, false), (Owners{-1, -1, -1, -1}))
      << "more GPUs than there are";
  EXPECT_EQ(OwnersOfGpus(reading, {}, true), (Owners{-1, -1, -1, -1}));
}

TEST(GpuOwners, SlurmsNumbersCountWhereAllOrdersAgree) {
  const ExporterReading reading = FourGpus();
  const std::vector<GpuClaim> claims{{7, 1, "0"}, {8, 2, "2-3"}};
  EXPECT_EQ(OwnersOfGpus(reading, claims, true), (Owners{0, -1, 1, 1}));
  EXPECT_EQ(OwnersOfGpus(reading, claims, false), (Owners{-1, -1, -1, -1}));
  EXPECT_EQ(OwnersOfGpus(reading, {{7, 1, "1"}, {8, 2, "0-1"}}, true), (Owners{1, -1, -1, -1}))
      << "a GPU that two jobs share is nobody's";
}

TEST(GpuOwners, TheExportersMappingCountsFirst) {
  ExporterReading reading = FourGpus();
  reading.maps_jobs = true;
  reading.gpus[0].jobs = {7};
  reading.gpus[1].jobs = {7, 8};
  reading.gpus[2].jobs = {99};
  const std::vector<GpuClaim> claims{{7, 1, "3"}, {8, 2, "0-1"}};
  EXPECT_EQ(OwnersOfGpus(reading, claims, true), (Owners{0, -1, -1, -1}));
  reading.gpus[0].partitioned = true;
  EXPECT_EQ(OwnersOfGpus(reading, claims, true), (Owners{-1, -1, -1, -1}));
  reading.gpus[0].partitioned = false;
  EXPECT_EQ(OwnersOfGpus(reading, {{7, 1, ""}, {7, 1, ""}}, true), (Owners{-1, -1, -1, -1}))
      << "two nodes of one host: whose?";
}

TEST(GpuOwners, NumbersOfSlurm) {
  EXPECT_EQ(ParseGpuIds("0-2,6,4"), (std::vector<std::int64_t>{0, 1, 2, 6, 4}));
  for (const char* ids : {"", "a", "1-", "-1", "3-1", "0-999999999", "1-2-3", "0,,1"})
    EXPECT_TRUE(ParseGpuIds(ids).empty()) << ids;
}

TEST(GpuOwners, TheDriversNumbersAgreeOrNot) {
  const TempFolder folder;
  const auto say = [&](const std::string& address, const std::string& minor) {
    const std::string path = folder.path() + "/gpus/" + address;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/information")
        << "Model: \t\t NVIDIA H100\nBus Location: \t " << address << "\nDevice Minor: \t " << minor << "\n";
  };
  EXPECT_FALSE(GpuNumbersAgree(folder.path() + "/gpus")) << "there is no driver";
  say("0000:17:00.0", "0");
  say("0000:2a:00.0", "1");
  EXPECT_TRUE(GpuNumbersAgree(folder.path() + "/gpus"));
  say("0000:01:00.0", "2");
  EXPECT_FALSE(GpuNumbersAgree(folder.path() + "/gpus"));
  say("0000:01:00.0", "zero");
  EXPECT_FALSE(GpuNumbersAgree(folder.path() + "/gpus"));
}

std::shared_ptr<const NodeJob> JobOnNode(std::int64_t id) {
  auto job = std::make_shared<NodeJob>();
  job->node = "n1";
  job->job = id;
  job->since_ns = 5;
  return job;
}

// Two GPUs at `s` seconds, with this share and this energy (J) each.
GpuUseFold::OwnedReading TwoGpus(double s, double share, double energy_j,
                                 std::shared_ptr<const NodeJob> owner) {
  GpuUseFold::OwnedReading reading;
  reading.at_ms = static_cast<std::int64_t>(s * 1000);
  for (int i = 0; i < 2; ++i) {
    GpuReading& gpu = reading.reading.gpus.emplace_back();
    gpu.uuid = Cat("GPU-", i);
    gpu.engine = share;
    gpu.tensor = share / 2;
    gpu.energy_mj = static_cast<std::int64_t>(energy_j * 1000);
    gpu.memory_used_mib = 100 * (i + 1);
    gpu.memory_free_mib = 50;
    reading.owners.push_back(owner);
  }
  return reading;
}

TEST(GpuUseFold, TimesInARowAreOneRecord) {
  GpuUseFold fold(absl::Seconds(30));
  const auto job = JobOnNode(1);
  EXPECT_TRUE(fold.Add(TwoGpus(0, 0.1, 0, job)).empty());
  EXPECT_TRUE(fold.Add(TwoGpus(30, 0.5, 1000, job)).empty());
  EXPECT_TRUE(fold.Add(TwoGpus(60.5, 0.9, 3000, job)).empty());
  const std::vector<GpuUseRecord> records = fold.Finish();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].job, job);
  EXPECT_EQ(records[0].end_ms, 60'500);
  EXPECT_EQ(records[0].gpus, 2);
  EXPECT_EQ(records[0].ms, (std::vector<std::int64_t>{30'000, 30'500}));
  EXPECT_EQ(records[0].busy, (std::vector<std::int64_t>{5'000, 9'000}));
  EXPECT_EQ(records[0].tensor, (std::vector<std::int64_t>{2'500, 4'500}));
  EXPECT_EQ(records[0].mj, (std::vector<std::int64_t>{2'000'000, 4'000'000}));
  EXPECT_TRUE(records[0].util.empty());
  EXPECT_EQ(records[0].memory_mib, 200);
  EXPECT_EQ(records[0].memory_of_mib, 250);
  EXPECT_TRUE(fold.Finish().empty());
}

TEST(GpuUseFold, ARecordHasTenTimes) {
  GpuUseFold fold(absl::Seconds(30));
  const auto job = JobOnNode(1);
  std::vector<GpuUseRecord> records;
  for (int i = 0; i <= 25; ++i) {
    for (GpuUseRecord& record : fold.Add(TwoGpus(30 * i, 0.5, i, job))) records.push_back(std::move(record));
  }
  for (GpuUseRecord& record : fold.Finish()) records.push_back(std::move(record));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].end_ms, 300'000);
  EXPECT_EQ(records[1].ms.size(), 10U);
  EXPECT_EQ(records[2].ms.size(), 5U);
  EXPECT_EQ(records[2].end_ms, 750'000);
}

TEST(GpuUseFold, AGapIsNotGuessed) {
  GpuUseFold fold(absl::Seconds(30));
  const auto job = JobOnNode(1);
  fold.Add(TwoGpus(0, 0.5, 0, job));
  fold.Add(TwoGpus(30, 0.5, 10, job));
  const std::vector<GpuUseRecord> before = fold.Add(TwoGpus(90, 0.5, 30, job));
  ASSERT_EQ(before.size(), 1U) << "what was known before the gap";
  EXPECT_EQ(before[0].end_ms, 30'000);
  fold.Add(TwoGpus(120, 0.5, 40, job));
  const std::vector<GpuUseRecord> after = fold.Finish();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].ms, (std::vector<std::int64_t>{30'000}));
  EXPECT_EQ(after[0].mj, (std::vector<std::int64_t>{20'000}));
}

TEST(GpuUseFold, TheTimeInWhichAGpuChangedHandsIsNobodys) {
  GpuUseFold fold(absl::Seconds(30));
  const auto first = JobOnNode(1);
  const auto second = JobOnNode(2);
  fold.Add(TwoGpus(0, 0.5, 0, first));
  fold.Add(TwoGpus(30, 0.5, 10, first));
  const std::vector<GpuUseRecord> left = fold.Add(TwoGpus(60, 0.5, 20, second));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].job, first);
  EXPECT_EQ(left[0].ms.size(), 1U);
  fold.Add(TwoGpus(90, 0.5, 30, second));
  const std::vector<GpuUseRecord> right = fold.Finish();
  ASSERT_EQ(right.size(), 1U);
  EXPECT_EQ(right[0].job, second);
  EXPECT_EQ(right[0].ms.size(), 1U);
}

TEST(GpuUseFold, WhatOneGpuDoesNotTellIsNotToldOfBoth) {
  GpuUseFold fold(absl::Seconds(30));
  const auto job = JobOnNode(1);
  fold.Add(TwoGpus(0, 0.5, 100, job));
  GpuUseFold::OwnedReading next = TwoGpus(30, 0.5, 90, job);  // the driver was loaded again
  next.reading.gpus[1].tensor.reset();
  for (GpuReading& gpu : next.reading.gpus) {
    gpu.engine.reset();
    gpu.util = 0.25;
    gpu.memory_free_mib.reset();
  }
  fold.Add(std::move(next));
  const std::vector<GpuUseRecord> records = fold.Finish();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_TRUE(records[0].busy.empty() && records[0].tensor.empty() && records[0].mj.empty());
  EXPECT_EQ(records[0].util, (std::vector<std::int64_t>{2'500}));
  EXPECT_FALSE(records[0].memory_of_mib);
}

TEST(GpuUseConfig, OnlyThisMachineIsAsked) {
  EXPECT_EQ(ParseConfig("", "c")->gpu_use, "");
  EXPECT_EQ(ParseConfig("gpu_use = dcgm", "c")->gpu_use, kDcgmUrl);
  EXPECT_EQ(ParseConfig("gpu_use = nvml", "c")->gpu_use, kNvmlSocket);
  EXPECT_EQ(ParseConfig("gpu_use = unix:/run/x", "c")->gpu_use, "unix:/run/x");
  EXPECT_EQ(ParseConfig("gpu_use = off", "c")->gpu_use, "");
  EXPECT_EQ(ParseConfig("gpu_use = http://127.0.0.1:19400/metrics", "c")->gpu_use,
            "http://127.0.0.1:19400/metrics");
  EXPECT_EQ(ParseConfig("gpu_use = http://[::1]:9400/metrics", "c")->gpu_use, "http://[::1]:9400/metrics");
  for (const char* url : {"yes", "http://n2:9400/metrics", "https://127.0.0.1:9400/",
                          "http://127.0.0.1.evil:1/", "http://127.0.0.1:9400@evil/"})
    EXPECT_FALSE(ParseConfig(Cat("gpu_use = ", url), "c").ok()) << url;
  EXPECT_EQ(ParseConfig("gpu_use_interval = 10s", "c")->gpu_use_interval, absl::Seconds(10));
}

}  // namespace
}  // namespace goodput
