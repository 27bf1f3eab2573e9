// Summaries of old records: reports do not change, and each record counts once, whatever happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sql/blocks/record_summary.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/evidence.h"
#include "sql/tables/purge.h"
#include "sql/tables/record_blocks.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/load_events.h"

namespace goodput {

bool operator==(const EventRow& a, const EventRow& b) {
  return std::tie(a.source_id, a.offset, a.t_ns, a.kind, a.record) ==
         std::tie(b.source_id, b.offset, b.t_ns, b.kind, b.record);
}

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kBegan = 1'767'225'600;

std::vector<EventRow> Summarized(std::vector<EventRow> events) {
  for (EventRow& event : events) event.record = SummaryOfRecord(event.record, event.kind);
  return events;
}

TEST(SummaryOfRecord, KeepsWhatReportsReadAndLeavesOutWhoWroteItAndProcessIds) {
  EXPECT_EQ(
      SummaryOfRecord(
          R"({"v":1,"t":1767225600000000007,"m":5,"node":"n1","stepd":42,"kind":"task_exit",)"
          R"("job":7,"uid":1000,"gid":100,"slurm_step":"0","task":3,"local_task":1,"pid":99,"signal":9})",
          "task_exit"),
      R"({"t":1767225600000000007,"m":5,"node":"n1","kind":"task_exit","job":7,"slurm_step":"0","task":3,)"
      R"("signal":9})");
}

TEST(SummaryOfRecord, KeepsTheProcessASignalWasForAndNotItsSender) {
  EXPECT_EQ(SummaryOfRecord(R"({"kind":"signal","pid":99,"sender_pid":1,"comm":"a\"\u001b"})", "signal"),
            R"({"kind":"signal","pid":99,"comm":"a\"\u001b"})");
}

TEST(SummaryOfRecord, WhatIsNoObjectOrHasStrangeNamesStaysAsItIs) {
  for (const char* record : {"", "x", "[1]", "{\"a\":", R"({"a\"b":1,"stepd":2})"})
    EXPECT_EQ(SummaryOfRecord(record, "mark"), record);
}

// Any records, of which some are none.
std::vector<EventRow> RandomEvents(std::mt19937_64& random, std::size_t count) {
  const std::vector<std::string> kinds{"job_prolog", "task_start", "task_exit", "signal", "mark", "", "new"};
  const std::vector<std::string> members{R"("v":1)",           R"("node":"n1")",
                                         R"("stepd":7)",       R"("opt":{"run":"a b","tags":{"k":"\u00e9"}})",
                                         R"("pid":123)",       R"("task":-1)",
                                         R"("flops":1.5e+21)", R"("big":9223372036854775807)",
                                         R"("flags":[])",      R"("x":null)",
                                         R"("y":true)",        R"("name":"\n\"\\")",
                                         R"("cluster":"")"};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<EventRow> events;
  for (std::size_t i = 0; i < count; ++i) {
    EventRow event;
    event.source_id = static_cast<std::int64_t>(below(5));
    event.offset = static_cast<std::int64_t>(random() >> below(64));
    event.t_ns = static_cast<std::int64_t>(random()) >> below(64);
    event.kind = kinds[below(kinds.size())];
    event.record = "{";
    for (std::size_t j = below(8); j > 0; --j) event.record += members[below(members.size())] + ",";
    if (below(4) != 0) event.record += Cat("\"m\":", static_cast<std::int64_t>(random()) >> below(64), ",");
    event.record += "\"end\":0}";
    if (below(20) == 0) event.record.resize(below(event.record.size()));
    events.push_back(std::move(event));
  }
  return events;
}

TEST(SummaryOfRecord, OfASummaryIsThatSummary) {
  std::mt19937_64 random(7);
  const std::vector<EventRow> once = Summarized(RandomEvents(random, 10'000));
  EXPECT_EQ(Summarized(once), once);
}

class PurgeTest : public testing::Test {
 protected:
  Database Db() {
    absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok()) << db.status();
    if (!db.ok()) std::abort();
    return *std::move(db);
  }
  // Seconds since kBegan.
  void Write(const std::string& node, int t, int job, const std::string& rest) {
    const fs::path file = fs::path(spool_) / node / "boot.2026010100Z.jsonl";
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::app)
        << "\n{\"v\":1,\"t\":" << (kBegan + t) * kSecondNs << ",\"m\":" << t + 1 << ",\"node\":\"" << node
        << "\",\"stepd\":1,\"cluster\":\"c\",\"job\":" << job << "," << rest << "}\n";
  }
  void WriteJob(int job, int t, int tasks, bool watched = true, const char* kind = "task_start") {
    if (watched) {
      Write("@controller", t, job,
            Cat(R"("kind":"attempt","state":"RUNNING","user":"eve","submit_s":)", kBegan + t));
    }
    for (const char* node : {"n1", "n2"}) {
      Write(node, t, job, R"("kind":"job_prolog","opt":{"run":"r"})");
      for (int task = 0; task < tasks; ++task)
        Write(node, t + 1, job, Cat(R"("kind":")", kind, R"(","slurm_step":"0","task":)", task));
    }
    Write("n1", t + 2, job,
          R"("kind":"mark","mark":"step","edge":"begin","train_step":1,"slurm_step":"0","task":0)");
  }
  void Ingest(Database& db) {
    const absl::StatusOr<IngestReport> report = IngestSpool(db, spool_, {"c"});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(report->problems.empty()) << report->problems.front();
  }
  static std::vector<EventRow> Of(Database& db, std::int64_t job) {
    absl::StatusOr<std::vector<EventRow>> events = LoadEvents(db, {"c", job});
    EXPECT_TRUE(events.ok()) << events.status();
    std::vector<EventRow> kept = Summarized(*events);
    return kept;
  }
  static std::int64_t One(Database& db, const std::string& sql) {
    Statement row = db.Prepare(sql);
    EXPECT_TRUE(row.Step()) << sql << row.status();
    return row.Int(0);
  }
  static PurgeReport Purge(
      Database& db, int before, const std::function<bool()>& enough = [] { return false; }) {
    const absl::StatusOr<PurgeReport> report = PurgeEvents(db, kBegan + before, kBegan + 5000, enough);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : PurgeReport{};
  }

  TempFolder folder_;
  std::string spool_ = folder_.path() + "/spool";
  std::string path_ = folder_.path() + "/goodput.db";
};

TEST_F(PurgeTest, WhatReportsReadOfAnOldJobIsTheSameAndItsRecordsAreGone) {
  WriteJob(1, 0, 10);
  WriteJob(2, 500, 10);
  Database db = Db();
  Ingest(db);
  const std::vector<EventRow> first = Of(db, 1);
  const std::vector<EventRow> second = Of(db, 2);
  ASSERT_EQ(first.size(), 23u);
  const PurgeReport report = Purge(db, 400);
  EXPECT_EQ(report.jobs, 1);
  EXPECT_EQ(report.events, 22);
  EXPECT_EQ(Of(db, 1), first);
  EXPECT_EQ(Of(db, 2), second);
  // Of the old one only the watch's word is left, of the other everything.
  EXPECT_EQ(One(db, "SELECT count(*) FROM event WHERE job_id = 1"), 1);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event WHERE job_id = 2"), 23);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event WHERE job_id = 1 AND kind = 'attempt'"), 1);
  EXPECT_EQ(*SummarizedSince(db, {{"c", 1}}), kBegan + 5000);
  EXPECT_EQ(*SummarizedSince(db, {{"c", 2}}), std::nullopt);
  EXPECT_EQ(LoadSteps(db, {"c", 1})->size(), 1u);
}

// Rows may be of a release that wrote them otherwise, or spoiled.
TEST_F(PurgeTest, WhateverARowHasComesBack) {
  WriteJob(1, 0, 3);
  Database db = Db();
  Ingest(db);
  Statement insert = db.Prepare(
      "INSERT OR IGNORE INTO event (source_id, offset, t_ns, kind, job_id, record) SELECT id, ?1, ?2, ?3, 1, "
      "?4"
      " FROM source WHERE node = ?5");
  std::mt19937_64 random(7);
  for (const EventRow& event : RandomEvents(random, 20'000)) {
    insert.Bind(1, event.offset).Bind(2, event.t_ns).Bind(3, event.kind).Bind(4, event.record);
    ASSERT_TRUE(insert.Bind(5, event.source_id % 2 == 0 ? "n1" : "n2").Run().ok());
  }
  const std::vector<EventRow> all = Of(db, 1);
  ASSERT_GT(all.size(), 10'000U);
  EXPECT_EQ(Purge(db, 400).events, static_cast<std::int64_t>(all.size()) - 1);
  EXPECT_EQ(Of(db, 1), all);
  EXPECT_GT(One(db, "SELECT count(*) FROM record_block"), 2);
}

TEST_F(PurgeTest, ASecondPurgeFindsNothing) {
  WriteJob(1, 0, 10);
  Database db = Db();
  Ingest(db);
  EXPECT_EQ(Purge(db, 400).events, 22);
  EXPECT_EQ(Purge(db, 400).events, 0);
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block"), 1);
}

TEST_F(PurgeTest, WhatComesOfAnOldJobLaterIsSummarizedTooOnceItIsOld) {
  WriteJob(1, 0, 3);
  Database db = Db();
  Ingest(db);
  Purge(db, 400);
  Write("n3", 600, 1, R"("kind":"task_exit","slurm_step":"0","task":9)");
  Ingest(db);
  const std::vector<EventRow> all = Of(db, 1);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(Purge(db, 500).events, 0);
  EXPECT_EQ(Purge(db, 700).events, 1);
  EXPECT_EQ(Of(db, 1), all);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event WHERE job_id = 1"), 1);
}

TEST_F(PurgeTest, AJobOfWhichNobodyButItsNodeSpokeKeepsItsRecords) {
  WriteJob(1, 0, 3, false);
  Database db = Db();
  Ingest(db);
  EXPECT_EQ(Purge(db, 400).events, 0);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event WHERE job_id = 1"), 8);
}

TEST_F(PurgeTest, BrokenOffAnywhereEveryRecordCountsOnce) {
  WriteJob(1, 0, 5000, true, "phase");
  Database db = Db();
  Ingest(db);
  const std::vector<EventRow> all = Of(db, 1);
  ASSERT_EQ(all.size(), 10003u);
  for (int steps = 1; steps < 6; ++steps) {
    int asked = 0;
    Purge(db, 400, [&] { return ++asked > 1; });
    ASSERT_EQ(Of(db, 1), all) << steps;
  }
  EXPECT_EQ(One(db, "SELECT count(*) FROM record_block"), 3);
  EXPECT_EQ(One(db, "SELECT count(*) FROM event"), 1);
}

TEST_F(PurgeTest, ARecordThatIsThereAgainBesideItsSummaryCountsOnce) {
  WriteJob(1, 0, 3);
  Database db = Db();
  Ingest(db);
  ASSERT_TRUE(db.Execute("CREATE TEMP TABLE before AS SELECT * FROM event").ok());
  const std::vector<EventRow> all = Of(db, 1);
  Purge(db, 400);
  ASSERT_TRUE(db.Execute("INSERT OR IGNORE INTO event SELECT * FROM before").ok());
  EXPECT_EQ(Of(db, 1), all);
  const absl::StatusOr<std::vector<EventRow>> events = LoadEvents(db, {"c", 1});
  ASSERT_TRUE(events.ok());
  // The record itself, with what summaries leave out.
  EXPECT_TRUE(std::all_of(events->begin(), events->end(), [](const EventRow& event) {
    return event.record.find("\"stepd\":1") != std::string::npos;
  }));
}

TEST_F(PurgeTest, AnIdThatWasUsedAgainKeepsEachJobsOwn) {
  WriteJob(1, 0, 3);
  WriteJob(1, 1000, 4);
  Database db = Db();
  Ingest(db);
  const JobKey first{"c", 1, 0, kBegan + 1000};
  const JobKey second{"c", 1, kBegan + 1000};
  const auto of = [&](const JobKey& job) { return Summarized(*LoadEvents(db, job)); };
  const std::vector<EventRow> before_first = of(first);
  const std::vector<EventRow> before_second = of(second);
  EXPECT_EQ(Purge(db, 500).events, 0);
  EXPECT_GT(Purge(db, 2000).events, 0);
  EXPECT_EQ(before_first.size(), 9u);
  EXPECT_EQ(of(first), before_first);
  EXPECT_EQ(of(second), before_second);
}

TEST_F(PurgeTest, TheFileBecomesSmaller) {
  for (int job = 1; job <= 20; ++job) WriteJob(job, job, 300, true, "phase");
  Database db = Db();
  Ingest(db);
  ASSERT_TRUE(db.Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  const auto before = fs::file_size(path_);
  const PurgeReport report = Purge(db, 400);
  EXPECT_EQ(report.jobs, 20);
  ASSERT_TRUE(db.Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  EXPECT_LT(fs::file_size(path_), before / 4);
  EXPECT_GE(report.freed_bytes, static_cast<std::int64_t>(before / 2));
  EXPECT_EQ(One(db, "PRAGMA freelist_count"), 0);
}

TEST_F(PurgeTest, AFileFromBeforeThatCannotShrinkIsPurgedAllTheSame) {
  {
    Database db = Db();
    ASSERT_TRUE(db.Execute("PRAGMA journal_mode=DELETE").ok());
    ASSERT_TRUE(db.Execute("PRAGMA auto_vacuum=NONE").ok());
    ASSERT_TRUE(db.Execute("VACUUM").ok());
  }
  WriteJob(1, 0, 1000);
  Database db = Db();
  ASSERT_EQ(One(db, "PRAGMA auto_vacuum"), 0);
  Ingest(db);
  const std::vector<EventRow> all = Of(db, 1);
  const PurgeReport report = Purge(db, 400);
  EXPECT_EQ(report.events, 2002);
  EXPECT_EQ(report.freed_bytes, 0);
  EXPECT_GT(One(db, "PRAGMA freelist_count"), 0);
  EXPECT_EQ(Of(db, 1), all);
}

TEST_F(PurgeTest, ASpoiledSummaryIsAnErrorAndNotAnEmptyJob) {
  WriteJob(1, 0, 3);
  Database db = Db();
  Ingest(db);
  Purge(db, 400);
  ASSERT_TRUE(db.Execute("UPDATE record_block SET data = substr(data, 1, 20)").ok());
  EXPECT_TRUE(absl::IsDataLoss(LoadEvents(db, {"c", 1}).status()));
}

}  // namespace
}  // namespace goodput
