// Restart cycles of NVRx, as its writer prints them.
#include "tools/sources/import_export/nvrx_cycle.h"

#include <gtest/gtest.h>

#include <string>

namespace goodput {
namespace {

// What CycleInfoReporter of nvidia-resiliency-ext d8686d9 wrote.
constexpr const char* kCycle = R"({
  "job_id": "12",
  "cycle_number": 1,
  "cycle_start_time": "2026-11-28T01:55:51.780570Z",
  "cycle_end_time": "2026-11-28T01:55:54.780927Z",
  "active_nodes": "n[01-07,09]",
  "standby_nodes": "n[10]",
  "generation": "1",
  "active_ranks": "0-7",
  "attempt_index": 0,
  "cycle_log_file": ""
})";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kCycle;
  return text.replace(text.find(from), from.size(), to);
}

TEST(NvrxCycle, HasATimeAndNodes) {
  const absl::StatusOr<NvrxCycle> cycle = ParseNvrxCycle(kCycle);
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_EQ(cycle->job, "12");
  EXPECT_EQ(cycle->number, 1);
  EXPECT_EQ(cycle->generation, 1);
  EXPECT_EQ(cycle->begin, 1'795'830'951'780'570'000);
  EXPECT_EQ(cycle->active, 8);
  EXPECT_EQ(cycle->standby, 1);
  EXPECT_TRUE(LooksLikeNvrxCycle(kCycle));
}

TEST(NvrxCycle, WithoutSparesAndFractionsOfASecond) {
  std::string text = With("n[10]", "");
  text.erase(text.find(".780570"), 7);
  const absl::StatusOr<NvrxCycle> cycle = ParseNvrxCycle(text);
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_EQ(cycle->begin, 1'795'830'951'000'000'000);
  EXPECT_EQ(cycle->standby, 0);
}

TEST(NvrxCycle, NamesThatHaveNoNumberAreAList) {
  const absl::StatusOr<NvrxCycle> cycle = ParseNvrxCycle(With("n[01-07,09]", "alpha,beta"));
  ASSERT_TRUE(cycle.ok()) << cycle.status();
  EXPECT_EQ(cycle->active, 2);
}

TEST(NvrxCycle, WhatIsNoneSaysSo) {
  const auto problem = [](const std::string& text) {
    return std::string(ParseNvrxCycle(text).status().message());
  };
  EXPECT_NE(problem("").find("not a JSON object"), std::string::npos);
  EXPECT_NE(problem("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(problem(std::string(kCycle).substr(0, 200)).find("cut off"), std::string::npos);
  EXPECT_NE(problem(With("2026-11-28T01:55:51.780570Z", "")).find("cycle_start_time"), std::string::npos);
  EXPECT_NE(problem(With("2026-11-28T01:55:51", "1969-11-28T01:55:51")).find("cycle_start_time"),
            std::string::npos);
  EXPECT_NE(problem(With("2026-11-28T01:55:51", "9026-11-28T01:55:51")).find("cycle_start_time"),
            std::string::npos);
  EXPECT_NE(problem(With("n[01-07,09]", "")).find("active_nodes"), std::string::npos);
  EXPECT_FALSE(LooksLikeNvrxCycle(R"({"job_name": "x"})"));
}

}  // namespace
}  // namespace goodput
