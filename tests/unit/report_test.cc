// Reports: what their reader may know, and which numbers a window leaves.
#include "tools/accounting/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/host_use_report.h"
#include "tools/accounting/report/machines_report.h"
#include "tools/accounting/report/rollup_table.h"

namespace goodput {
namespace {

TEST(GpuHours, HaveDecimalsUnlessThereAreAHundred) {
  constexpr GpuNs kHour = static_cast<GpuNs>(3600) * kSecond;
  EXPECT_DOUBLE_EQ(GpuHours(kHour + kHour / 2), 1.5);
  EXPECT_EQ(FormatGpuHours(kHour * 1234 / 100), "12.34");
  EXPECT_EQ(FormatGpuHours(kHour * 99), "99.00");
  EXPECT_EQ(FormatGpuHours(kHour * 100), "100");
}

class ReportTest : public testing::Test {
 protected:
  ReportTest() : db_(*Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite)) {}

  static AccountingRow Job(std::int64_t id, std::int64_t start, std::int64_t end, const std::string& state) {
    AccountingRow row;
    row.cluster = "c1";
    row.job_id = id;
    row.job_id_text = std::to_string(id);
    row.submit_s = 100;
    row.eligible_s = 100;
    row.start_s = start;
    row.end_s = end;
    row.state = state;
    row.partition = "p" + std::to_string(id);
    row.node_list = "n1";
    row.nodes = 1;
    row.gpus = 8;
    return row;
  }
  std::vector<Report> Make(const std::vector<AccountingRow>& rows, const std::vector<JobKey>& jobs,
                           const ReportSettings& settings) {
    EXPECT_TRUE(StoreAccounting(db_, rows, 1).ok());
    ClusterReader cluster(db_);
    auto reports = MakeReports(db_, cluster, jobs, settings);
    EXPECT_TRUE(reports.ok()) << reports.status();
    return reports.ok() ? *std::move(reports) : std::vector<Report>();
  }

  TempFolder folder_;
  Database db_;
};

TEST_F(ReportTest, WhoTookTheNodesIsNamedOnlyToWhoMayKnow) {
  ReportSettings settings;
  settings.now = 10'000 * kSecond;
  const std::vector<AccountingRow> rows = {Job(7, 110, 200, "PREEMPTED"), Job(8, 200, 260, "COMPLETED")};
  const auto preemptor = [&] {
    return Make(rows, {{"c1", 7}}, settings).at(0).run.facts.attempts.at(0).preempted_by;
  };
  EXPECT_NE(preemptor().find("job 8"), std::string::npos) << preemptor();
  settings.may_name_preemptor = false;
  EXPECT_EQ(preemptor(), "another job started on its nodes");
}

TEST_F(ReportTest, HowMachinesWereObtainedHasItsEvidence) {
  ReportSettings settings;
  settings.now = 10'000 * kSecond;
  AccountingRow named = Job(1, 110, 200, "NODE_FAIL");
  named.partition = "a3";
  AccountingRow reserved = Job(2, 210, 300, "COMPLETED");
  reserved.partition = "a3";
  reserved.reservation = "llm";
  AccountingRow waits = Job(3, 0, 0, "PENDING");
  waits.start_s.reset();
  waits.end_s.reset();
  const auto machines = [&](const AccountingRow& row, const std::map<std::string, std::string>& features) {
    std::vector<Report> reports = Make({row}, {{"c1", row.job_id}}, settings);
    reports.at(0).provisions = ProvisionsOf(reports.at(0), features);
    return MachinesInWords(reports.at(0));
  };
  EXPECT_EQ(machines(named, {}), "") << "nothing says it";
  EXPECT_EQ(machines(named, {{"n1", "h100,spot"}}), "spot (by the nodes' features)");
  EXPECT_EQ(machines(reserved, {}), "reserved:llm (by Slurm's reservation)");
  named.partition = "flex-start";
  EXPECT_EQ(machines(named, {}), "flex-start (by the partition's name)");
  EXPECT_EQ(machines(waits, {{"n1", "spot"}}), "") << "it has no machines";
}

// The machines of an attempt as the metadata server of its node says, or a reason of slurm-gcp for it.
void RunOn(RunBuilder& run, double from, const std::string& model, bool taken) {
  run.Attempt().Submitted(from).Started(from + 10).Gpus(8).Ended(from + 100, "NODE_FAIL");
  AttemptFacts& facts = run.Last().facts;
  facts.node_list = "n1";
  if (!model.empty()) facts.machines = {{"n1", model, "us-central1-a"}};
  if (taken) facts.taken_node = "n1";
}

TEST(Machines, OfAttemptsThatDifferAreCounted) {
  RunBuilder run;
  RunOn(run, 0, "", false);
  RunOn(run, 100, "SPOT", false);
  RunOn(run, 200, "SPOT", false);
  RunOn(run, 300, "", true);
  Report report;
  report.run.facts = run.Facts();
  report.timeline = BuildTimeline(report.run.facts);
  report.account = TakeAccount(report.timeline);
  EXPECT_EQ(MachinesInWords(report), "") << "nobody asked";
  report.provisions = ProvisionsOf(report, {});
  EXPECT_EQ(MachinesInWords(report),
            "spot in 2 of 4 attempts (by each machine's metadata server); unobserved in 1; spot in 1 (by "
            "slurm-gcp's reason for a node that it lost)");
  const std::string json = ReportAsJson(report);
  EXPECT_NE(json.find("\"evidence\": \"reason\""), std::string::npos) << json;
}

// A table of waits for machines, as large as they come.
RollupReport LargeTable(const std::vector<RollupKey>& keys, const std::vector<std::string>& names) {
  constexpr GpuNs kHour = static_cast<GpuNs>(3600) * kSecond;
  RollupReport report;
  report.keys = names;
  report.by = names.size() == 1 ? names[0] : names[0] + "," + names[1];
  for (const RollupKey& key : keys) report.consumption |= key.by == RollupBy::kConsumption;
  report.waits = true;
  RollupRow row;
  row.group = "northamerica-northeast1-a";
  if (keys.size() > 1) row.group += '\x1f' + std::string("reserved");
  row.runs = 12'345;
  row.interruptions = 12'345;
  for (std::size_t i = 0; i < kBucketCount; ++i) {
    row.gpu_ns[i] = 123'456 * kHour;
    row.ns[i] = Ns{9'999} * 3600 * kSecond;
  }
  row.told_by = {{"-", 100 * kHour}, {"feature", kHour}, {"machine", kHour}, {"reservation", kHour}};
  report.rows = {row, row};
  report.total = row;
  return report;
}

std::size_t WidestLine(const RollupReport& report) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(PrintRollup(report, {}).ok());
  const std::string text = testing::internal::GetCapturedStdout();
  std::size_t widest = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) widest = std::max(widest, line.size());
  EXPECT_GT(widest, 40U) << text;
  if (widest > 80) ADD_FAILURE() << text;
  return widest;
}

TEST(RollupTable, OfMachinesAndOfWaitsForThemFitsOn80Columns) {
  const RollupKey by_user{RollupBy::kUser, ""};
  const std::vector<std::pair<std::vector<RollupKey>, std::vector<std::string>>> tables = {
      {{{RollupBy::kConsumption, ""}}, {"consumption"}},
      {{{RollupBy::kStockout, ""}}, {"stockout"}},
      {{by_user, {RollupBy::kConsumption, ""}}, {"user", "consumption"}},
      {{by_user, {RollupBy::kStockout, ""}}, {"user", "stockout"}},
      {{{RollupBy::kStockout, ""}, {RollupBy::kConsumption, ""}}, {"stockout", "consumption"}}};
  for (const auto& [keys, names] : tables) {
    for (int options = 0; options < 16; ++options) {
      SCOPED_TRACE(names[0] + (names.size() > 1 ? "," + names[1] : "") + " " + std::to_string(options));
      RollupReport report = LargeTable(keys, names);
      report.windows = (options & 1) != 0;
      if ((options & 2) != 0) report.gpu_hour = 2.5;
      for (RollupRow* row : {&report.rows[0], &report.rows[1], &report.total}) {
        if ((options & 4) != 0) {
          row->AddRated(1, 0.4);
          row->Rate();
        }
        if ((options & 8) != 0) row->gpu_ns[static_cast<std::size_t>(Bucket::kUnobserved)] = 0;
      }
      EXPECT_LE(WidestLine(report), 80U);
    }
  }
}

TEST_F(ReportTest, ConcurrentJobsOfAChainHaveNoName) {
  ReportSettings settings;
  settings.now = 10'000 * kSecond;
  const std::vector<Report> reports =
      Make({Job(7, 110, 200, "COMPLETED"), Job(9, 150, 250, "COMPLETED")}, {{"c1", 7}, {"c1", 9}}, settings);
  ASSERT_EQ(reports.size(), 2U);
  for (const Report& report : reports) {
    EXPECT_EQ(report.run.info.run, "");
    ASSERT_FALSE(report.timeline.warnings.empty());
    EXPECT_NE(report.timeline.warnings.back().find("jobs of the chain"), std::string::npos);
  }
}

// Trains from 20 to 120, with a program goodput.
Report Trained() {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ready(12).TaskStarts(15, 0).Steps(0, 9, 20, 10).TaskExits(120, 0, 0);
  run.Last().Gpus(8).Ended(121, "COMPLETED");
  Report report;
  report.run.facts = run.Facts();
  report.timeline = BuildTimeline(report.run.facts);
  report.account = TakeAccount(report.timeline);
  report.account.goodput.program = 0.4;
  report.program_evidence = "as declared";
  return report;
}

TEST(Window, AProgramGoodputOfOtherStepsIsNotShown) {
  Report clipped = Trained();
  ClipReport(clipped, At(0), At(60));
  EXPECT_FALSE(clipped.account.goodput.program);
  EXPECT_EQ(clipped.program_evidence, "");
  EXPECT_NE(clipped.program_reason, "");
  Report without_wait = Trained();
  ExcludeFromReport(without_wait, {{At(0), At(10)}});
  EXPECT_EQ(without_wait.account.goodput.program, 0.4) << "no kept step is missing";
  EXPECT_EQ(without_wait.program_evidence, "as declared");
  Report without_steps = Trained();
  ExcludeFromReport(without_steps, {{At(40), At(60)}});
  EXPECT_FALSE(without_steps.account.goodput.program);
  EXPECT_EQ(without_steps.program_evidence, "");
}

TEST(HostUseInWords, HasNoShareOfAnAllocationThatAccountingCallsZeroSeconds) {
  HostUseTotal total;
  total.cpu_s = 0.2;
  total.cpu_given_s = 0;
  EXPECT_EQ(InWords(total).front().second, "0.2 CPU-s");
  total.cpu_given_s = 4;
  EXPECT_EQ(InWords(total).front().second, "0.2 of 4.0 CPU-s given (5.0%)");
}

}  // namespace
}  // namespace goodput
