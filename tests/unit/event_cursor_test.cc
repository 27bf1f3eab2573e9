// A cursor returns the same for an event in every stored form.
#include "sql/tables/event_cursor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/purge.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNsOfASecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'767'225'600;

// What a reader asks of one.
struct Said {
  std::int64_t t_ns = 0;
  std::string kind, node, boot, slurm_step, words;
  std::optional<std::int64_t> m, task, exit_code, restart, job_id;
  std::size_t flags = 0;
  bool opt = false;
  bool operator==(const Said& other) const {
    return std::tie(t_ns, kind, node, boot, slurm_step, words, m, task, exit_code, restart, job_id, flags,
                    opt) == std::tie(other.t_ns, other.kind, other.node, other.boot, other.slurm_step,
                                     other.words, other.m, other.task, other.exit_code, other.restart,
                                     other.job_id, other.flags, other.opt);
  }
};
using All = std::map<std::pair<std::string, std::int64_t>, Said>;

class EventCursorTest : public testing::Test {
 protected:
  Database Db() {
    absl::StatusOr<Database> db = Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok()) << db.status();
    if (!db.ok()) std::abort();
    return *std::move(db);
  }
  void Write(const std::string& node, std::int64_t t, const std::string& kind, const std::string& more) {
    const fs::path file = fs::path(folder_.path()) / "spool" / node / "boot.2026010100Z.jsonl";
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::app)
        << Cat("\n{\"v\":1,\"t\":", kStart * kNsOfASecond + t, ",\"m\":", t + 5, ",\"node\":\"", node,
               "\",\"stepd\":1,\"kind\":\"", kind, "\",\"cluster\":\"c\",\"job\":7", more, "}\n");
  }
  // Of the job 7 on two nodes, beside other records of either.
  void WriteJob(int tasks) {
    Write("@controller", 1, "attempt", R"(,"user":"eve","state":"RUNNING","flags":["A","B"])");
    for (const std::string node : {"n1", "n2"}) {
      Write(node, 10, "job_prolog", R"(,"restart":2,"opt":{"run":"r"})");
      for (int task = 0; task < tasks; ++task) {
        Write(node, 100 + task, "task_start", Cat(R"(,"slurm_step":"0","task":)", task));
        Write(node, 9000 + task, "task_exit",
              Cat(R"(,"slurm_step":"0","task":)", task, R"(,"exit_code":)", task % 3));
      }
      Write(node, 500, "mark", R"(,"mark":"phase","edge":"begin","name":"load \"it\"","task":0)");
    }
  }
  void Ingest(Database& db) {
    const absl::StatusOr<IngestReport> report = IngestSpool(db, folder_.path() + "/spool", {"c"});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->bad, 0);
  }
  static All Read(Database& db, const EventsOf& which) {
    All all;
    EventCursor cursor(db, which);
    while (cursor.Next()) {
      const EventView& event = cursor.event();
      const Said said{event.t_ns,
                      std::string(event.kind),
                      std::string(event.node),
                      std::string(event.boot),
                      event.Text(key::kSlurmStep),
                      event.Text(key::kName) + event.Text(key::kNode) + event.Text(key::kUser),
                      event.Int(key::kMonotonic),
                      event.Int(key::kTask),
                      event.Int(key::kExitCode),
                      event.Int(key::kRestart),
                      event.job_id,
                      event.Texts(key::kFlags).size(),
                      event.HasOpt()};
      EXPECT_TRUE(all.emplace(std::pair{said.node, event.offset}, said).second) << "an event twice";
    }
    EXPECT_TRUE(cursor.status().ok()) << cursor.status();
    return all;
  }
  static std::int64_t Count(Database& db, const std::string& table) {
    Statement row = db.Prepare("SELECT count(*) FROM " + table);
    return row.Step() ? row.Int(0) : -1;
  }
  TempFolder folder_;
};

TEST_F(EventCursorTest, EveryFormSaysTheSame) {
  WriteJob(200);
  Database db = Db();
  Ingest(db);
  ASSERT_GT(Count(db, "record_block"), 0);
  ASSERT_LT(Count(db, "event"), 10);
  const EventsOf of_job = EventsOf::Job({"c", 7});
  const All in_blocks = Read(db, of_job);
  ASSERT_EQ(in_blocks.size(), 805U);
  const Said& exit = in_blocks.rbegin()->second;
  EXPECT_EQ(exit.kind, "mark");
  EXPECT_EQ(exit.words, "load \"it\"n2");

  // The same as rows: written back by what the cursor says of each.
  {
    EventCursor cursor(db, of_job);
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>> rows;
    while (cursor.Next()) {
      const EventView& event = cursor.event();
      if (event.shape == EventView::kNoShape) continue;
      EXPECT_EQ(event.file, "");
      rows.emplace_back(event.source_id, event.offset, event.t_ns, std::string(event.kind), event.Record());
    }
    Statement insert = db.Prepare(
        "INSERT INTO event (source_id, offset, t_ns, kind, job_id, record) VALUES (?1, ?2, ?3, ?4, 7, ?5)");
    for (const auto& [source, offset, t, kind, record] : rows) {
      insert.Bind(1, source).Bind(2, offset).Bind(3, t).Bind(4, kind).Bind(5, record);
      ASSERT_TRUE(insert.Run().ok());
    }
  }
  ASSERT_TRUE(db.Execute("DELETE FROM record_block").ok());
  EXPECT_EQ(Read(db, of_job), in_blocks);

  const absl::StatusOr<PurgeReport> purged =
      PurgeEvents(db, kStart + 1000, kStart + 2000, [] { return false; });
  ASSERT_TRUE(purged.ok()) << purged.status();
  ASSERT_EQ(purged->events, 804);
  EXPECT_EQ(Count(db, "event"), 1);
  EXPECT_EQ(Read(db, of_job), in_blocks);
}

TEST_F(EventCursorTest, OnlyTheKindsAndTimesThatAreAskedFor) {
  WriteJob(200);
  Database db = Db();
  Ingest(db);
  EventsOf which = EventsOf::Job({"c", 7}, {"task_exit", "attempt"});
  EXPECT_EQ(Read(db, which).size(), 401U);
  which.from_ns = kStart * kNsOfASecond + 9100;
  which.until_ns = kStart * kNsOfASecond + 9110;
  EXPECT_EQ(Read(db, which).size(), 20U);
  EXPECT_EQ(Read(db, EventsOf::Watch("c", "attempt", 0, INT64_MAX)).size(), 1U);
  EXPECT_EQ(Read(db, EventsOf::Job({"other", 7})).size(), 0U);
}

TEST_F(EventCursorTest, AfterRewindItReadsTheSameAgain) {
  const EventsOf of_job = EventsOf::Job({"c", 7});
  const auto places = [](EventCursor& cursor) {
    std::vector<std::tuple<std::int64_t, std::string, std::int64_t, std::string, std::size_t>> places;
    while (cursor.Next()) {
      const EventView& event = cursor.event();
      EXPECT_EQ(event.Int(key::kMonotonic), event.t_ns - kStart * kNsOfASecond + 5);
      places.emplace_back(event.t_ns, event.node, event.offset, event.Record(), event.shape);
    }
    EXPECT_TRUE(cursor.status().ok()) << cursor.status();
    return places;
  };
  // Few rows, then blocks, then more rows than are kept, then summaries beside rows.
  WriteJob(0);
  Database db = Db();
  Ingest(db);
  const auto read_again = [&](std::size_t events) {
    EventCursor cursor(db, of_job);
    const auto first = places(cursor);
    EXPECT_EQ(first.size(), events);
    for (int again = 0; again < 2; ++again) {
      cursor.Rewind();
      EXPECT_EQ(places(cursor), first);
    }
    // Out of the middle.
    cursor.Rewind();
    EXPECT_TRUE(cursor.Next() && cursor.Next());
    cursor.Rewind();
    EXPECT_EQ(places(cursor), first);
    cursor.Rewind();
    EXPECT_EQ(places(cursor), first);
  };
  read_again(5);
  WriteJob(200);
  Ingest(db);
  read_again(810);
  for (int mark = 0; mark < 500; ++mark)
    Write("n1", 20'000 + mark, "mark",
          Cat(R"(,"mark":"phase","edge":"begin","name":"p)", mark, R"(","task":0)"));
  Ingest(db);
  read_again(1310);
  // Members in another order, and none of the names that come before: the same time.
  std::ofstream(fs::path(folder_.path()) / "spool/n1/boot.2026010100Z.jsonl", std::ios::app)
      << Cat("\n{\"job\":7,\"m\":30005,\"v\":1,\"kind\":\"mark\",\"cluster\":\"c\",\"node\":\"n1\",\"stepd\":"
             "1,\"t\":",
             kStart * kNsOfASecond + 30'000, R"(,"mark":"phase","edge":"begin","name":"q","task":0})", "\n");
  Ingest(db);
  read_again(1311);
  ASSERT_TRUE(PurgeEvents(db, kStart + 1000, kStart + 2000, [] { return false; }).ok());
  EventCursor cursor(db, of_job);
  std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> first;
  while (cursor.Next()) first.emplace_back(cursor.event().t_ns, cursor.event().node, cursor.event().offset);
  cursor.Rewind();
  std::size_t at = 0;
  while (cursor.Next()) {
    ASSERT_LT(at, first.size());
    EXPECT_EQ(std::tuple(cursor.event().t_ns, std::string(cursor.event().node), cursor.event().offset),
              first[at++]);
  }
  EXPECT_EQ(at, first.size());
}

TEST_F(EventCursorTest, ABlockThatIsSpoiledIsAnError) {
  WriteJob(200);
  Database db = Db();
  Ingest(db);
  ASSERT_TRUE(db.Execute("UPDATE record_block SET data = substr(data, 1, length(data) - 3)").ok());
  EventCursor cursor(db, EventsOf::Job({"c", 7}));
  while (cursor.Next()) {
  }
  EXPECT_TRUE(absl::IsDataLoss(cursor.status()));
}

}  // namespace
}  // namespace goodput
