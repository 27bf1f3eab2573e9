// The rows of the fleet database add up to the report they were cut from, to the nanosecond.
#include "tools/accounting/fleet_rows/fleet_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/unit/any_run.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/fleet_rows/attempt_days.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/timeline/clip.h"

namespace goodput {
namespace {

constexpr Ns kDay = 86'400 * kSecond;

// The rows of [first, last] as one row of a roll-up.
RollupRow SumOf(const std::vector<AttemptDay>& rows, std::int64_t first, std::int64_t last, bool has_gpus) {
  RollupRow sum;
  for (const AttemptDay& row : rows) {
    if (row.day < first || row.day > last) continue;
    for (std::size_t i = 0; i < kBucketCount; ++i) {
      sum.ns[i] += row.ns[i];
      sum.gpu_ns[i] += row.gpu_ns[i];
      if (!has_gpus) sum.cpu_ns[i] += row.ns[i];
    }
    sum.gap_gpu_ns += row.gap_gpu_ns;
    if (!has_gpus) sum.gap_cpu_ns += row.gap_ns;
  }
  return sum;
}

void ExpectSame(const RollupRow& sum, const RollupRow& row, const std::string& where) {
  EXPECT_EQ(sum.ns, row.ns) << where;
  EXPECT_TRUE(sum.gpu_ns == row.gpu_ns) << where;
  EXPECT_EQ(sum.cpu_ns, row.cpu_ns) << where;
  EXPECT_TRUE(sum.gap_gpu_ns == row.gap_gpu_ns) << where;
  EXPECT_EQ(sum.gap_cpu_ns, row.gap_cpu_ns) << where;
}

RollupRow TotalOf(const Timeline& timeline) {
  Rollup rollup(RollupBy::kAll, "", {});
  rollup.Add({}, timeline);
  return rollup.Total();
}

TEST(AttemptDays, OfAnyRunAddUpToItsReport) {
  for (std::uint64_t seed = 1; seed <= Cases(3000); ++seed) {
    AnyRun any(seed, false);
    RunFacts facts = any.Take();
    // Far apart, so that days, months and years are cut.
    for (AttemptFacts& attempt : facts.attempts) attempt.submit -= static_cast<Ns>(seed % 70) * kDay / 3;
    if (Chance chance(seed); chance.OneIn(2)) MakeElastic(chance, facts);
    const Timeline timeline = BuildTimeline(facts);
    const std::vector<AttemptDay> rows = CutIntoDays(timeline, MachineWaits(timeline));
    const GpuWeights weights(timeline);
    const std::int64_t first = UtcDay(timeline.begin);
    const std::int64_t last = UtcDay(timeline.end);
    ExpectSame(SumOf(rows, first, last, weights.has_gpus()), TotalOf(timeline), "all");
    Rollup by_cause(RollupBy::kCause, "", {});
    by_cause.Add({}, timeline);
    for (const RollupRow& row : by_cause.Rows()) {
      std::vector<AttemptDay> lost_to_it;
      for (const AttemptDay& day : rows) {
        if ((day.cause.empty() ? "-" : day.cause) == row.group) lost_to_it.push_back(day);
      }
      ExpectSame(SumOf(lost_to_it, first, last, weights.has_gpus()), row, row.group);
    }
    const std::int64_t middle = first + (last - first) / 2;
    Timeline until = timeline;
    ClipTimeline(until, until.begin, (middle + 1) * kDay);
    ExpectSame(SumOf(rows, first, middle, weights.has_gpus()), TotalOf(until), "days");
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(AttemptDays, AreOneForEachAttemptDayCauseAndStockout) {
  for (std::uint64_t seed = 1; seed <= Cases(300); ++seed) {
    AnyRun any(seed, true);
    const RunFacts facts = any.Take();
    const Timeline timeline = BuildTimeline(facts);
    std::set<std::tuple<int, std::int64_t, std::string, std::string>> keys;
    for (const AttemptDay& row : CutIntoDays(timeline, MachineWaits(timeline)))
      EXPECT_TRUE(keys.emplace(row.attempt, row.day, row.cause, row.stockout).second) << seed;
  }
}

TEST(AttemptDays, BeginAtMidnightUtc) {
  EXPECT_EQ(UtcDay(0), 0);
  EXPECT_EQ(UtcDay(kDay - 1), 0);
  EXPECT_EQ(UtcDay(kDay), 1);
  EXPECT_EQ(UtcDay(-1), -1);
  EXPECT_EQ(UtcDay(-kDay), -1);
  EXPECT_EQ(UtcDay(-kDay - 1), -2);
}

Report ReportOf(RunBuilder& run) {
  Report report;
  report.run.facts = run.Facts();
  report.run.info.user = "eve";
  report.run.info.state = "COMPLETED";
  report.timeline = BuildTimeline(report.run.facts);
  report.account = TakeAccount(report.timeline);
  return report;
}

RunBuilder OneJob() {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(10)
      .Gpus(8)
      .Ready(12)
      .Srun(0, 15, 100'000, 0)
      .Ended(100'000, "COMPLETED");
  return run;
}

TEST(FleetRows, HaveAColumnForEachValue) {
  RunBuilder run = OneJob();
  const auto rows = RowsOfRun(ReportOf(run), {12, 1'700'000'000}, "alpha", {});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto fields = [](const std::string& line) {
    return std::vector<std::string>(absl::StrSplit(line, '\t')).size();
  };
  EXPECT_EQ(fields(rows->unit_line), UnitColumns().size());
  ASSERT_GE(rows->days.size(), 2U);
  for (const std::string& day : rows->days) EXPECT_EQ(fields(day), AttemptDayColumns().size());
  EXPECT_EQ(rows->unit, "12@1700000000");
  EXPECT_TRUE(rows->final);
}

TEST(FleetRows, HaveAnotherDigestIfAnythingDiffers) {
  RunBuilder run = OneJob();
  Report report = ReportOf(run);
  const UnitKey key{12, 1'700'000'000};
  const auto before = RowsOfRun(report, key, "alpha", {});
  const auto again = RowsOfRun(report, key, "alpha", {});
  EXPECT_EQ(before->digest, again->digest);
  EXPECT_EQ(before->unit, "12@1700000000");
  report.run.info.account = "other";
  EXPECT_NE(before->digest, RowsOfRun(report, key, "alpha", {})->digest);
  EXPECT_NE(before->shard, RowsOfRun(report, key, "beta", {})->shard);
}

TEST(FleetRows, HaveTheNodesOfEachAttemptInTheirOrder) {
  RunBuilder run = OneJob();
  Report report = ReportOf(run);
  EXPECT_TRUE(RowsOfRun(report, {12, 5}, "alpha", {})->nodes.empty());
  const Digest before = RowsOfRun(report, {12, 5}, "alpha", {})->digest;
  report.run.facts.attempts.front().node_list = "n[2-3],n1,x\"{";
  report.timeline = BuildTimeline(report.run.facts);
  const auto rows = RowsOfRun(report, {12, 5}, "alpha", {});
  ASSERT_EQ(rows->nodes.size(), 1U);
  const std::vector<std::string> fields = absl::StrSplit(rows->nodes.front(), '\t');
  ASSERT_EQ(fields.size(), AttemptNodesColumns().size());
  EXPECT_EQ(fields[3], "0");
  EXPECT_EQ(fields[4], R"({"n2","n3","n1","x\\"{"})");
  EXPECT_NE(rows->digest, before);
}

TEST(FleetRows, HoldAnyName) {
  RunBuilder run = OneJob();
  Report report = ReportOf(run);
  report.run.info.user = std::string("a\tb\nc\\N\0'\"\xFF", 11);
  const auto rows = RowsOfRun(report, {1, 0}, "\xED\xA0\x80", {});
  ASSERT_TRUE(rows.ok());
  EXPECT_NE(rows->unit_line.find("a\\tb\\nc\\\\N\xEF\xBF\xBD'\"\xEF\xBF\xBD"), std::string::npos)
      << rows->unit_line;
  EXPECT_EQ(rows->unit_line.find('\n'), std::string::npos);
  EXPECT_EQ(FleetText(std::string(5000, 'x')).size(), 1000U);
}

TEST(FleetRows, NameTheirRun) {
  for (const UnitKey key : {UnitKey{-3, 1}, UnitKey{7, 12}}) {
    const auto parsed = ParseUnitName(UnitName(key));
    ASSERT_TRUE(parsed.ok());
    EXPECT_TRUE(*parsed == key);
  }
  for (const char* wrong : {"", "x", "1", "1@", "@2", "1@2@3", "1 "})
    EXPECT_FALSE(ParseUnitName(wrong).ok()) << wrong;
}

TEST(FleetRows, KnowARunByItsFirstJob) {
  RunBuilder run;
  run.Attempt(9).Submitted(50).Started(60).Ended(70, "REQUEUED");
  run.Attempt(9).Submitted(80).Started(90).Ended(100, "COMPLETED");
  run.Attempt(7).Submitted(200).Started(210).Ended(220, "COMPLETED");
  const std::vector<UnitKey> jobs = JobsOfReport(ReportOf(run));
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(UnitName(jobs[0]), "7@1700000200");
  EXPECT_EQ(UnitName(jobs[1]), "9@1700000050");
}

TEST(FleetRows, RefuseARunOfDecades) {
  RunBuilder run;
  run.Attempt().Submitted(-1e9).Started(10).Ended(100, "COMPLETED");
  EXPECT_EQ(RowsOfRun(ReportOf(run), {1, 0}, "c", {}).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace goodput
