// The database has every record of the spool exactly once, whatever happens.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "spank/spool.h"
#include "sql/blocks/mark_block.h"
#include "sql/blocks/step_block.h"
#include "sql/database.h"
#include "sql/ingest/backlog.h"
#include "sql/ingest/ingest.h"
#include "sql/schema.h"
#include "sql/spool_line.h"
#include "sql/tables/accounting.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/step_store.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/format_document.h"
#include "tests/unit/load_events.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kJob = 7;
std::int64_t fake_now_ns = 0;
constexpr Clock kFakeClock = {[]() noexcept { return fake_now_ns; },
                              []() noexcept { return std::int64_t{1}; }};

// Where an event is: its file and the byte of its '{'.
using Place = std::pair<std::string, std::int64_t>;

class StoreTest : public testing::Test {
 protected:
  StoreTest() { fake_now_ns = 1'767'225'600'000'000'000; }

  std::string Root() const { return folder_.path() + "/spool"; }
  std::string DbPath() const { return folder_.path() + "/goodput.db"; }
  fs::path File(const std::string& node = "n1") const {
    return fs::path(Root()) / node / "boot.2026010100Z.jsonl";
  }

  Database Db(Database::Mode mode = Database::Mode::kReadWrite) {
    absl::StatusOr<Database> db = Database::Open(DbPath(), mode);
    EXPECT_TRUE(db.ok()) << db.status();
    if (!db.ok()) std::abort();
    return *std::move(db);
  }
  IngestReport Ingest(Database& db) {
    absl::StatusOr<IngestReport> report = IngestSpool(db, Root(), {"default"});
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : IngestReport{};
  }
  IngestReport Ingest() {
    Database db = Db();
    return Ingest(db);
  }

  void OpenSpool(Spool& spool, const std::string& node = "n1") const {
    Spool::Config config;
    config.root = Root();
    config.node = node;
    config.owner = geteuid();
    config.boot_id = "boot";
    config.clock = kFakeClock;
    ASSERT_EQ(spool.Open(config), "");
  }
  // Bytes as they stand in a file, past the spool's own writer.
  void Append(const std::string& bytes, const fs::path& file) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::app) << bytes;
  }

  static std::string Event(std::int64_t number, const std::string& node = "n1",
                           std::string_view kind = kind::kTaskStart) {
    RecordBuilder builder(kind, {fake_now_ns + number, number, node, 42});
    builder.Text(key::kCluster, "c1");
    builder.Int(key::kJob, kJob);
    builder.Text(key::kSlurmStep, "0");
    builder.Int(key::kTask, number);
    return std::string(builder.Finish());
  }
  static std::string StepMarkRecord(std::int64_t step, const std::string& node = "n1",
                                    const std::string& slurm_step = "0",
                                    std::optional<std::int64_t> task = std::nullopt) {
    RecordBuilder builder(kind::kMark, {fake_now_ns + step * 1'000'003, step * 1'000'003, node, 42});
    builder.Text(key::kCluster, "c1");
    builder.Int(key::kJob, kJob);
    builder.Text(key::kSlurmStep, slurm_step);
    builder.Int(key::kTask, task.value_or(step % 3));
    builder.Text(key::kMark, "step");
    builder.Text(key::kEdge, "begin");
    builder.Int(key::kTrainStep, step);
    return std::string(builder.Finish());
  }

  // Every good line of every spool file: the truth.
  std::map<Place, std::string> InSpool() const {
    std::map<Place, std::string> events;
    SpoolLineParser parser;
    for (const auto& entry : fs::recursive_directory_iterator(Root())) {
      if (entry.path().extension() != ".jsonl" || entry.is_symlink() || !entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      std::string bytes = text.str();
      const std::size_t size = bytes.size();
      bytes.resize(size + SpoolLineParser::kPadding);
      std::size_t at = 0;
      while (at < size) {
        const std::size_t end = bytes.find('\n', at);
        if (end >= size) break;
        const std::string_view line(bytes.data() + at, end - at);
        const std::string file =
            entry.path().parent_path().filename().string() + "/" + entry.path().filename().string();
        if (parser.Parse(line).ok()) events[{file, static_cast<std::int64_t>(at)}] = std::string(line);
        at = end + 1;
      }
    }
    return events;
  }
  // What the database has, a step mark as the record's text would have it.
  static std::map<Place, std::string> InDatabase(Database& db) {
    std::map<Place, std::string> events;
    std::map<std::int64_t, std::string> files;
    const auto sources = LoadSources(db);
    EXPECT_TRUE(sources.ok());
    for (const SourceRow& source : *sources) files[source.id] = source.node + "/" + source.file;
    Statement all = db.Prepare("SELECT source_id, offset, record FROM event");
    while (all.Step()) events[{files[all.Int(0)], all.Int(1)}] = all.Text(2);
    EXPECT_TRUE(all.status().ok());
    EventCursor cursor(db, EventsOf::Job({"c1", kJob}));
    while (cursor.Next()) {
      const EventView& view = cursor.event();
      if (view.shape == EventView::kNoShape) continue;  // a row
      std::string& event = events[{files[view.source_id], view.offset}];
      EXPECT_EQ(event, "") << "a record twice";
      event = view.Record();
    }
    EXPECT_TRUE(cursor.status().ok());
    const auto steps = LoadSteps(db, {"c1", kJob});
    EXPECT_TRUE(steps.ok());
    for (const StepRow& step : *steps) {
      std::string& event = events[{files[step.source_id], step.offset}];
      EXPECT_EQ(event, "") << "a step twice";
      event = "step " + std::to_string(step.train_step) + " task " + std::to_string(step.task) + " at " +
              std::to_string(step.t_ns) + " in " + step.slurm_step;
    }
    return events;
  }
  static void ExpectSame(const std::map<Place, std::string>& spool,
                         const std::map<Place, std::string>& stored) {
    ASSERT_EQ(spool.size(), stored.size());
    SpoolLineParser parser;
    for (const auto& [place, line] : spool) {
      const auto found = stored.find(place);
      ASSERT_NE(found, stored.end()) << place.first << ":" << place.second << " is missing: " << line;
      std::string padded = line;
      padded.reserve(line.size() + SpoolLineParser::kPadding);
      const auto record = parser.Parse(padded);
      ASSERT_TRUE(record.ok());
      const std::string expected =
          record->is_step_mark ? "step " + std::to_string(record->train_step) + " task " +
                                     std::to_string(record->task.value_or(0)) + " at " +
                                     std::to_string(record->t_ns) + " in " + std::string(record->slurm_step)
                               : line;
      ASSERT_EQ(found->second, expected);
    }
  }
  void ExpectComplete() {
    Database db = Db();
    ExpectSame(InSpool(), InDatabase(db));
    std::int64_t counted = 0;
    const auto sources = LoadSources(db);
    for (const SourceRow& source : *sources) counted += source.records;
    EXPECT_EQ(counted, static_cast<std::int64_t>(InSpool().size())) << "the sources' own counts";
    Statement check = db.Prepare("PRAGMA integrity_check");
    ASSERT_TRUE(check.Step());
    EXPECT_EQ(check.Text(0), "ok");
  }
  std::string QuarantineReason() {
    Database db = Db();
    const auto rows = LoadQuarantine(db, 10);
    EXPECT_TRUE(rows.ok());
    EXPECT_EQ(rows->size(), 1U);
    return rows->empty() ? "" : rows->front().reason;
  }

  TempFolder folder_;
};

// ---- the database itself ----

TEST_F(StoreTest, AMissingDatabaseIsMadeForItsOwnerAndGroupAlone) {
  { Database db = Db(); }
  struct stat info {};
  ASSERT_EQ(stat(DbPath().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  Database again = Db();
  Statement version = again.Prepare("PRAGMA user_version");
  ASSERT_TRUE(version.Step());
  EXPECT_EQ(version.Int(0), kSchemaVersion);
}

TEST_F(StoreTest, ReadersDoNotMakeDatabasesAndSayWhatToDo) {
  const auto db = Database::Open(DbPath(), Database::Mode::kReadOnly);
  ASSERT_TRUE(absl::IsNotFound(db.status()));
  EXPECT_NE(std::string(db.status().message()).find("--db"), std::string::npos);
  EXPECT_FALSE(fs::exists(DbPath()));
}

TEST_F(StoreTest, WhyADatabaseCannotBeMadeAndWhatToDo) {
  const std::string path = folder_.path() + "/missing/goodput.db";
  const auto db = Database::Open(path, Database::Mode::kReadWrite);
  ASSERT_TRUE(absl::IsPermissionDenied(db.status()));
  EXPECT_EQ(db.status().message(), "cannot open the database " + path +
                                       ": No such file or directory; specify another with --db FILE or in "
                                       "goodput.conf");
}

TEST_F(StoreTest, ALinkToNothingMakesNoFile) {
  const std::string target = folder_.path() + "/elsewhere";
  fs::create_symlink(target, DbPath());
  const auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
  ASSERT_TRUE(absl::IsFailedPrecondition(db.status()));
  EXPECT_NE(std::string(db.status().message()).find("symbolic link"), std::string::npos);
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(StoreTest, AnEmptyFileIsFilledByWritersAndRefusedByReaders) {
  std::ofstream(DbPath()).close();
  EXPECT_TRUE(absl::IsFailedPrecondition(Database::Open(DbPath(), Database::Mode::kReadOnly).status()));
  Db();
  EXPECT_TRUE(Database::Open(DbPath(), Database::Mode::kReadOnly).ok());
}

TEST_F(StoreTest, ADevelopmentVersionsDatabaseIsRefusedAndStaysAsItIs) {
  for (const int version : {1, 14}) {
    {
      Database db = Db();
      EXPECT_TRUE(db.Execute("PRAGMA application_id=0").ok());
      EXPECT_TRUE(db.Execute("PRAGMA user_version=" + std::to_string(version)).ok());
    }
    for (const auto mode : {Database::Mode::kReadOnly, Database::Mode::kReadWrite}) {
      const auto db = Database::Open(DbPath(), mode);
      ASSERT_TRUE(absl::IsFailedPrecondition(db.status()));
      EXPECT_NE(std::string(db.status().message()).find("move it away"), std::string::npos);
    }
    fs::remove(DbPath());
  }
}

TEST_F(StoreTest, ANewerSchemaIsRefusedByAll) {
  { EXPECT_TRUE(Db().Execute("PRAGMA user_version=99").ok()); }
  for (const auto mode : {Database::Mode::kReadOnly, Database::Mode::kReadWrite}) {
    const auto db = Database::Open(DbPath(), mode);
    ASSERT_TRUE(absl::IsFailedPrecondition(db.status()));
    EXPECT_NE(std::string(db.status().message()).find("upgrade"), std::string::npos);
  }
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsRefusedWithItsName) {
  std::ofstream(DbPath()) << std::string(5000, 'x');
  const auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
  ASSERT_FALSE(db.ok());
  EXPECT_NE(std::string(db.status().message()).find(DbPath()), std::string::npos) << db.status();
}

TEST_F(StoreTest, SeveralProcessesMayMakeTheDatabaseAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
      if (!db.ok()) std::fprintf(stderr, "%s\n", std::string(db.status().message()).c_str());
      _exit(db.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(StoreTest, AStatementThatCannotWorkSaysSoWhenUsed) {
  Database db = Db();
  Statement wrong = db.Prepare("SELECT nothing FROM nowhere");
  wrong.Bind(1, std::int64_t{1}).Bind(2, "x").BindNull(3).BindBlob(4, "y");
  EXPECT_FALSE(wrong.Step());
  EXPECT_FALSE(wrong.Run().ok());
}

TEST_F(StoreTest, TwoStatementsInOneTextAreRefusedEachTime) {
  Database db = Db();
  for (int i = 0; i < 2; ++i) {
    Statement two = db.Prepare("SELECT 1; SELECT 2");
    EXPECT_FALSE(two.Step()) << i;
    EXPECT_FALSE(two.status().ok()) << i;
  }
}

TEST_F(StoreTest, ATransactionThatIsNotCommittedNeverWas) {
  Database db = Db();
  {
    Transaction transaction(db);
    ASSERT_TRUE(db.Execute("INSERT INTO source (cluster, node, file) VALUES ('c', 'n', 'f')").ok());
  }
  EXPECT_TRUE(LoadSources(db)->empty());
}

// ---- ingest ----

TEST_F(StoreTest, EveryEventOfTheSpoolArrives) {
  for (const std::string& node : {std::string("n1"), std::string("n2")}) {
    Spool spool;
    OpenSpool(spool, node);
    for (int i = 0; i < 300; ++i) {
      fake_now_ns += 60'000'000'000;  // five hours: several files
      ASSERT_EQ(spool.Write(i % 3 == 0 ? Event(i, node) : StepMarkRecord(i, node)), Append::kWritten);
    }
  }
  const IngestReport report = Ingest();
  EXPECT_EQ(report.records, 600);
  EXPECT_EQ(report.bad, 0);
  EXPECT_TRUE(report.problems.empty());
  ExpectComplete();
}

TEST_F(StoreTest, IngestingTwiceAddsNothing) {
  Append(Event(1) + StepMarkRecord(2), File());
  EXPECT_EQ(Ingest().records, 2);
  const IngestReport again = Ingest();
  EXPECT_EQ(again.records, 0);
  EXPECT_EQ(again.bytes, 0);
  EXPECT_EQ(again.files, 1);
  Append(Event(3), File());
  EXPECT_EQ(Ingest().records, 1);
  ExpectComplete();
}

TEST_F(StoreTest, RecordsSeenInManySmallPiecesAreTheSame) {
  const std::string all = Event(1) + StepMarkRecord(1) + StepMarkRecord(2) + Event(2) + StepMarkRecord(3);
  Database db = Db();
  for (std::size_t at = 0; at < all.size(); at += 37) {
    Append(all.substr(at, 37), File());
    Ingest(db);
  }
  ExpectComplete();
  EXPECT_EQ(InDatabase(db).size(), 5U);
}

TEST_F(StoreTest, ATornRecordSpoilsOnlyItself) {
  const std::string torn = Event(1000);
  std::string good_lines;
  std::int64_t good = 0;
  std::int64_t bad = 0;
  for (std::size_t cut = 0; cut <= torn.size(); ++cut) {
    // The next writer begins with a newline of its own.
    Append(torn.substr(0, cut) + Event(static_cast<std::int64_t>(cut)), File());
    ++good;
    if (cut >= torn.size() - 1) {
      ++good;
    } else if (cut > 1) {
      ++bad;
    }
  }
  const IngestReport report = Ingest();
  EXPECT_EQ(report.records, good);
  EXPECT_EQ(report.bad, bad);
  ExpectComplete();
}

TEST_F(StoreTest, ALineStillBeingWrittenIsWaitedFor) {
  const std::string record = Event(1);
  Append(record.substr(0, record.size() - 1), File());
  EXPECT_EQ(Ingest().records, 0);
  Append("\n", File());
  EXPECT_EQ(Ingest().records, 1);
  ExpectComplete();
}

TEST_F(StoreTest, AHoleOfNulBytesIsWaitedForAndNothingBehindItIsRead) {
  Append(Event(1), File());
  const auto hole = fs::file_size(File());
  const std::string late = Event(2);
  Append(std::string(late.size(), '\0') + Event(3), File());
  const IngestReport report = Ingest();
  EXPECT_EQ(report.records, 1);
  EXPECT_EQ(report.bad, 0);
  EXPECT_EQ(Ingest().records, 0);
  std::fstream(File(), std::ios::in | std::ios::out | std::ios::binary)
          .seekp(static_cast<std::streamoff>(hole))
      << late;
  EXPECT_EQ(Ingest().records, 2);
  ExpectComplete();
}

TEST_F(StoreTest, AHoleThatNobodyFillsForAnHourIsSetAsideAndWhatIsBehindItTaken) {
  Append(Event(1) + std::string(4096, '\0') + Event(3), File());
  EXPECT_EQ(Ingest().records, 1);
  const auto age = [this](std::int64_t seconds) {
    fs::last_write_time(File(), fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  age(kHoleSettlesS - 60);
  EXPECT_EQ(Ingest().records, 0);
  age(kHoleSettlesS + 60);
  const IngestReport report = Ingest();
  EXPECT_EQ(report.records, 1);
  EXPECT_EQ(report.bad, 1);
  Database db = Db();
  Statement reason = db.Prepare("SELECT reason FROM quarantine");
  ASSERT_TRUE(reason.Step());
  EXPECT_EQ(reason.Text(0), "a hole in the file");
  EXPECT_EQ(Ingest().records, 0);
}

TEST_F(StoreTest, AFullSpoolGivesUpWhatIsInTheDatabaseOldestFirst) {
  const fs::path folder = File().parent_path();
  const std::vector<std::string> names = {"boot.2026010100Z.jsonl", "boot.2026010101Z.jsonl",
                                          "boot.2026010102Z.jsonl", "boot.2026010103Z.jsonl"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    Append(Event(static_cast<std::int64_t>(i)), folder / names[i]);
    const auto hours = std::chrono::hours(9 - 2 * static_cast<int>(i));  // the last one is an hour old
    fs::last_write_time(folder / names[i],
                        fs::file_time_type::clock::now() - (i == 3 ? std::chrono::hours(1) : hours));
  }
  const auto size = static_cast<std::int64_t>(fs::file_size(folder / names[0]));
  Database db = Db();
  SpoolMemory memory;
  IngestOptions options;
  options.cluster = "default";
  options.memory = &memory;
  options.most_bytes = 3 * size - 1;
  const auto pass = [&] {
    const auto report = IngestSpool(db, Root(), options);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->removed : -1;
  };
  EXPECT_EQ(pass(), 0) << "nothing before it is in the database";
  // A job that runs began in the second file.
  Append("goodput=on\n", folder / "job.7");
  fs::last_write_time(folder / "job.7", fs::last_write_time(folder / names[1]) - std::chrono::minutes(10));
  EXPECT_EQ(pass(), 1);
  EXPECT_FALSE(fs::exists(folder / names[0]));
  EXPECT_EQ(pass(), 0) << "the job needs the next";
  fs::remove(folder / "job.7");
  EXPECT_EQ(pass(), 1);
  EXPECT_FALSE(fs::exists(folder / names[1]));
  EXPECT_EQ(pass(), 0) << "there is room";
  options.most_bytes = 1;
  EXPECT_EQ(pass(), 1) << "but never one that may still be written to";
  EXPECT_TRUE(fs::exists(folder / names[3]));
}

TEST_F(StoreTest, WhatOnlyTheControllerKnowsNoNodeCanSay) {
  for (const char* kind : {"queue", "attempt", "gone", "node_state", "watch"}) {
    Append("\n{\"v\":1,\"t\":1767225600000000000,\"m\":1,\"node\":\"n1\",\"stepd\":1,\"kind\":\"" +
               std::string(kind) + "\",\"cluster\":\"c1\",\"job\":12,\"state\":\"FAILED\"}\n",
           File());
  }
  const IngestReport report = Ingest();
  EXPECT_EQ(report.bad, 5);
  EXPECT_EQ(report.records, 0);
  Database db = Db();
  Statement reason = db.Prepare("SELECT reason FROM quarantine ORDER BY offset");
  ASSERT_TRUE(reason.Step());
  EXPECT_EQ(reason.Text(0), "a node cannot record `queue`; only the controller can");
}

TEST_F(StoreTest, OfALongFileOfNonsenseTheFirstLinesAreKeptAndAllAreCounted) {
  std::string nonsense;
  for (int i = 0; i < 500; ++i) nonsense += "x\n";
  Append(nonsense, File());
  EXPECT_EQ(Ingest().bad, 500);
  Append(nonsense + Event(1), File());
  const IngestReport report = Ingest();
  EXPECT_EQ(report.bad, 500);
  EXPECT_EQ(report.records, 1);
  Database db = Db();
  Statement kept = db.Prepare("SELECT count(*), (SELECT sum(bad) FROM source) FROM quarantine");
  ASSERT_TRUE(kept.Step());
  EXPECT_EQ(kept.Int(0), 100);
  EXPECT_EQ(kept.Int(1), 1000);
}

TEST_F(StoreTest, TheBacklogSaysWhatIsNewAndWhatHoldsAFileBack) {
  const auto backlog = [this] {
    Database db = Db();
    const absl::StatusOr<Backlog> found = FindBacklog(db, Root(), "default");
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : Backlog{};
  };
  Append(Event(1), File());
  EXPECT_EQ(backlog().new_bytes, static_cast<std::int64_t>(fs::file_size(File())));
  EXPECT_TRUE(backlog().held.empty());
  Ingest();
  EXPECT_EQ(backlog().new_bytes, 0);

  const auto whole = static_cast<std::int64_t>(fs::file_size(File()));
  Append("\n{\"v\":1", File());
  ASSERT_EQ(backlog().held.size(), 1U) << "a torn end";
  EXPECT_FALSE(backlog().held[0].hole);
  EXPECT_EQ(backlog().held[0].offset, whole + 1);
  EXPECT_EQ(backlog().held[0].bytes, 6);

  Append("\n" + Event(2) + std::string(10, '\0') + Event(3), File());
  Ingest();
  ASSERT_EQ(backlog().held.size(), 1U) << "a hole";
  EXPECT_TRUE(backlog().held[0].hole);
  EXPECT_EQ(backlog().held[0].path, File().string());
  EXPECT_EQ(backlog().held[0].bytes, 10 + static_cast<std::int64_t>(Event(3).size()));
}

TEST_F(StoreTest, AHoleInAVeryLongFileIsNoProblemEither) {
  Append(std::string(1, '\0') + std::string(std::size_t{5} << 20, 'x'), File());
  EXPECT_TRUE(Ingest().problems.empty());
}

TEST_F(StoreTest, BadLinesAreSetAsideWithTheReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"v\":1,", "not a JSON object"},
      {"[1,2]", "not a JSON object"},
      {R"({"t":1,"m":1,"node":"n1","stepd":1,"kind":"mark"})", "no `v`"},
      {R"({"v":2,"t":1,"m":1,"node":"n1","stepd":1,"kind":"mark"})", "format 2 is newer than this program"},
      {R"({"v":1,"m":1,"node":"n1","stepd":1,"kind":"mark"})", "no `t`, `m`, `kind` or `node`"},
      {R"({"v":1,"t":"x","m":1,"node":"n1","stepd":1,"kind":"mark"})", "`t` has the wrong type"},
      {R"({"v":1,"t":9223372036854775807,"m":-9223372036854775807,"node":"n1","stepd":1,"kind":"mark"})",
       "`t` or `m` is no time"},
      {R"({"v":1,"t":1.5,"m":1,"node":"n1","stepd":1,"kind":"mark"})", "`t` has the wrong type"},
      {R"({"v":1,"t":1,"m":1,"node":"n1","kind":"mark","job":"7"})", "`job` has the wrong type"},
      {R"({"v":1,"t":99999999999999999999,"m":1,"node":"n1","kind":"mark"})", "not a JSON object"},
      {R"({"v":1,"t":1,"m":1,"node":"n2","stepd":1,"kind":"mark"})", "`node` is not the folder's n1"},
      {std::string(5000, ' ') + "{}", "longer than a record may be"},
      {"{\"v\":1,\"t\":1,\"m\":1,\"node\":\"n1\",\"kind\":\"\xff\xfe\"}", "not a JSON object"},
  };
  int number = 0;
  for (const auto& [line, reason] : cases) {
    const fs::path file = fs::path(Root()) / "n1" / ("boot." + std::to_string(++number) + ".jsonl");
    Append("\n" + line + "\n" + Event(number), file);
    const IngestReport report = Ingest();
    EXPECT_EQ(report.bad, 1) << line.substr(0, 100);
    EXPECT_EQ(report.records, 1) << "the line after it is good";
    EXPECT_EQ(QuarantineReason(), reason) << line.substr(0, 100);
    Database db = Db();
    ASSERT_TRUE(db.Execute("DELETE FROM quarantine").ok());
    fs::remove(file);
  }
}

TEST_F(StoreTest, ABadLineRemembersWhereItWas) {
  Append(Event(1), File());
  const auto offset = fs::file_size(File()) + 1;
  Append("\nnonsense\n", File());
  Ingest();
  Database db = Db();
  const auto rows = LoadQuarantine(db, 10);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().node, "n1");
  EXPECT_EQ(rows->front().file, File().filename().string());
  EXPECT_EQ(rows->front().offset, static_cast<std::int64_t>(offset));
}

TEST_F(StoreTest, AnyBytesAtAllOnlyFillTheQuarantine) {
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = "\n";
    const std::string record = round % 2 == 0 ? Event(round) : StepMarkRecord(round);
    for (int i = 0; i < 20; ++i) {
      std::string line = record;
      for (int flips = 0; flips < 3; ++flips)
        line[random() % line.size()] = static_cast<char>(1 + random() % 255);
      bytes += line;
    }
    Append(bytes + Event(1000 + round), File());
  }
  const IngestReport report = Ingest();
  EXPECT_TRUE(report.problems.empty());
  EXPECT_GE(report.records, 40);
  Database db = Db();
  Statement last = db.Prepare("SELECT count(*) FROM event WHERE json_extract(record, '$.task') >= 1000");
  ASSERT_TRUE(last.Step()) << last.status();
  EXPECT_GE(last.Int(0), 40);
}

TEST_F(StoreTest, AFileThatShrankIsAProblemAndKeepsWhatWasRead) {
  Append(Event(1) + Event(2), File());
  Append(Event(1, "n2"), File("n2"));
  EXPECT_EQ(Ingest().records, 3);
  fs::resize_file(File(), 10);
  Append(Event(2, "n2"), File("n2"));
  const IngestReport report = Ingest();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("shorter"), std::string::npos) << report.problems[0];
  EXPECT_EQ(report.records, 1) << "the other file was read";
  Database db = Db();
  EXPECT_EQ(InDatabase(db).size(), 4U);
}

TEST_F(StoreTest, WhatCannotBeReadStopsNothingElse) {
  Append(Event(1), File());
  fs::create_directories(fs::path(Root()) / "n1" / "a.jsonl");
  fs::create_symlink("/etc/passwd", fs::path(Root()) / "n1" / "b.jsonl");
  ASSERT_EQ(mkfifo((fs::path(Root()) / "n1" / "c.jsonl").c_str(), 0600), 0);
  std::ofstream(fs::path(Root()) / "n1" / "dropped") << "counters";
  std::ofstream(fs::path(Root()) / "disabled") << "";
  const IngestReport report = Ingest();
  EXPECT_EQ(report.records, 1);
  EXPECT_EQ(report.problems.size(), 3U);
  ExpectComplete();
}

TEST_F(StoreTest, AnUnreadableFileStopsNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  Append(Event(1), File());
  Append(Event(1, "n2"), File("n2"));
  ASSERT_EQ(chmod(File().c_str(), 0600), 0);
  for (const std::string& path : {folder_.path(), Root(), Root() + "/n1", Root() + "/n2"}) {
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  }
  ASSERT_EQ(chmod(File("n2").c_str(), 0644), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(9);
    auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
    if (!db.ok()) _exit(8);
    const auto report = IngestSpool(*db, Root(), {});
    _exit(report.ok() && report->records == 1 && report->problems.size() == 1 ? 0 : 7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(StoreTest, AMissingSpoolIsAnErrorThatNamesIt) {
  Database db = Db();
  const auto report = IngestSpool(db, Root(), {});
  ASSERT_TRUE(absl::IsNotFound(report.status()));
  EXPECT_NE(std::string(report.status().message()).find(Root()), std::string::npos);
}

TEST_F(StoreTest, FourMegabytesWithoutANewlineAreNoSpool) {
  Append(std::string(std::size_t{5} << 20, 'x') + "\n", File());
  Append(Event(1, "n2"), File("n2"));
  const IngestReport report = Ingest();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.records, 1);
}

TEST_F(StoreTest, AFileLargerThanOneTransactionArrivesWhole) {
  std::string bytes;
  std::int64_t count = 0;
  while (bytes.size() < (std::size_t{9} << 20)) {
    bytes += count % 2 == 0 ? Event(count) : StepMarkRecord(count);
    ++count;
  }
  Append(bytes, File());
  EXPECT_EQ(Ingest().records, count);
  ExpectComplete();
}

TEST_F(StoreTest, TheClusterIsTheRecordsOrTheDefault) {
  Append(Event(1), File());
  RecordBuilder builder(kind::kNodeState, {1, 1, "n2", 1});
  Append(std::string(builder.Finish()), File("n2"));
  Ingest();
  Database db = Db();
  const auto sources = LoadSources(db);
  ASSERT_EQ(sources->size(), 2U);
  EXPECT_EQ((*sources)[0].cluster, "c1");
  EXPECT_EQ((*sources)[1].cluster, "default");
}

TEST_F(StoreTest, ADatabaseThatCannotBeWrittenIsAnErrorNotAProblemOfAFile) {
  Append(Event(1), File());
  Db();
  Database reader = Db(Database::Mode::kReadOnly);
  const auto report = IngestSpool(reader, Root(), {});
  EXPECT_FALSE(report.ok());
}

// ---- exactly once, whatever happens ----

// Runs `body` in a child of its own.
pid_t Child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  return child;
}

int Wait(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(StoreTest, AnIngestKilledAtAnyMomentNeitherLosesNorRepeats) {
  { Database db = Db(); }
  {
    Spool spool;
    OpenSpool(spool);
  }
  const pid_t writer = Child([&] {
    Spool spool;
    Spool::Config config;
    config.root = Root();
    config.node = "n1";
    config.owner = geteuid();
    config.boot_id = "boot";
    config.clock = kFakeClock;
    if (!spool.Open(config).empty()) _exit(1);
    for (int i = 0; i < 10'000; ++i) {
      if (i % 1000 == 0) fake_now_ns += 3'600'000'000'000;
      if (spool.Write(i % 4 == 0 ? Event(i) : StepMarkRecord(i)) != Append::kWritten) _exit(2);
      if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  std::mt19937 random(5);
  int killed = 0;
  int status = 0;
  while (waitpid(writer, &status, WNOHANG) == 0) {
    const pid_t ingester = Child([&] {
      auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
      while (db.ok() && IngestSpool(*db, Root(), {}).ok()) {
      }
      _exit(1);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(ingester, SIGKILL);
    const int end = Wait(ingester);
    ASSERT_TRUE(WIFSIGNALED(end)) << "the ingest gave up by itself";
    ++killed;
  }
  EXPECT_EQ(status, 0) << "the writer";
  EXPECT_GT(killed, 2);  // a loaded machine starts few in that time
  Ingest();
  EXPECT_EQ(InSpool().size(), 10'000U);
  ExpectComplete();
}

TEST_F(StoreTest, TwoIngestersAtOnceShareTheWork) {
  std::string bytes;
  for (int i = 0; i < 12'000; ++i) bytes += i % 4 == 0 ? Event(i) : StepMarkRecord(i);
  Append(bytes, File());
  { Database db = Db(); }
  std::vector<pid_t> children;
  children.reserve(3);
  for (int i = 0; i < 3; ++i) {
    children.push_back(Child([&] {
      auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
      if (!db.ok() || !IngestSpool(*db, Root(), {}).ok()) _exit(1);
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  ExpectComplete();
}

TEST_F(StoreTest, ReadersReadWhileTheWriterWrites) {
  std::string bytes;
  for (int i = 0; i < 5'000; ++i) bytes += Event(i);
  Append(bytes, File());
  { Database db = Db(); }
  const pid_t writer = Child([&] {
    auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
    if (!db.ok() || !IngestSpool(*db, Root(), {}).ok()) _exit(1);
  });
  std::size_t seen = 0;
  while (seen < 5'000) {
    Database db = Db(Database::Mode::kReadOnly);
    const auto events = LoadEvents(db, {"c1", kJob});
    ASSERT_TRUE(events.ok()) << events.status();
    ASSERT_GE(events->size(), seen) << "nothing goes away";
    seen = events->size();
  }
  EXPECT_EQ(Wait(writer), 0);
}

TEST_F(StoreTest, TheLastTimesOfAFileAndOfAJobNeverGoBack) {
  const auto at = [](std::int64_t t_s, std::int64_t job) {
    RecordBuilder record(kind::kSignal, {t_s * 1'000'000'000, 1, "n1", 1});
    record.Int(key::kJob, job);
    return std::string(record.Finish());
  };
  // A record that comes late: after another of its job, and after one of another job.
  Append(at(1000, 1) + at(900, 1) + at(1000, 2) + at(800, 3) + at(950, 2), File());
  Ingest();
  Append(at(700, 1) + at(2000, 3) + at(700, 2), File());
  Ingest();
  Database db = Db();
  Statement jobs =
      db.Prepare("SELECT job_id, first_t_s, last_t_s FROM job_seen WHERE run = '' ORDER BY job_id");
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {{700, 1000}, {700, 1000}, {800, 2000}};
  for (const auto& [first, last] : expected) {
    ASSERT_TRUE(jobs.Step());
    EXPECT_EQ(jobs.Int(1), first) << jobs.Int(0);
    EXPECT_EQ(jobs.Int(2), last) << jobs.Int(0);
  }
  Statement newest = db.Prepare("SELECT newest_t_ns FROM source");
  ASSERT_TRUE(newest.Step());
  EXPECT_EQ(newest.Int(0), 2000LL * 1'000'000'000);
}

TEST(StepSummary, OnlyTheEvenStepsOfOneTaskAreEven) {
  const auto stride = [](const std::vector<PackedStep>& steps) {
    StepSummary summary;
    for (const PackedStep& step : steps) summary.Add(step);
    return summary.stride();
  };
  const auto step = [](std::int64_t t_ns, std::int64_t number, std::int64_t task) {
    PackedStep packed{};
    packed.t_ns = t_ns;
    packed.step = number;
    packed.task = task;
    return packed;
  };
  EXPECT_EQ(stride({step(10, 0, 0), step(20, 2, 0), step(30, 4, 0)}), 2);
  EXPECT_EQ(stride({step(10, 0, 0), step(20, 2, 1), step(30, 4, 0)}), std::nullopt) << "two tasks";
  EXPECT_EQ(stride({step(10, 0, 0), step(20, 2, 0), step(30, 5, 0)}), std::nullopt) << "another stride";
}

// A database on a small disk of its own, or below a limit on the size of files.
TEST_F(StoreTest, AFullDiskIsAnErrorAndLosesNothing) {
  std::string bytes;
  for (int i = 0; i < 30'000; ++i) bytes += i % 2 == 0 ? Event(i, "n1", kind::kSignal) : StepMarkRecord(i);
  Append(bytes, File());
  { Database db = Db(); }
  const pid_t child = Child([&] {
    signal(SIGXFSZ, SIG_DFL);  // the limit must be an error, not the end of the process
    const rlimit small{std::size_t{1} << 20, std::size_t{1} << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    auto db = Database::Open(DbPath(), Database::Mode::kReadWrite);
    if (!db.ok()) _exit(2);
    _exit(IngestSpool(*db, Root(), {}).ok() ? 1 : 0);
  });
  EXPECT_EQ(Wait(child), 0) << "it must say that it could not";
  {
    Database db = Db();
    Statement check = db.Prepare("PRAGMA integrity_check");
    ASSERT_TRUE(check.Step());
    EXPECT_EQ(check.Text(0), "ok");
    std::int64_t offset = 0;
    const auto sources = LoadSources(db);
    for (const SourceRow& source : *sources) offset += source.records;
    EXPECT_EQ(offset, static_cast<std::int64_t>(InDatabase(db).size())) << "rows and offsets go together";
  }
  Ingest();
  ExpectComplete();
}

TEST_F(StoreTest, ASmallDiskThatFillsUpAndIsEmptiedAgain) {
  const std::string disk = folder_.path() + "/disk";
  fs::create_directory(disk);
  if (mount("goodput-test", disk.c_str(), "tmpfs", 0, "size=1536k") != 0)
    GTEST_SKIP() << "may not mount a tmpfs";
  const auto unmount = [&] { umount2(disk.c_str(), MNT_DETACH); };
  std::string bytes;
  for (int i = 0; i < 8'000; ++i) bytes += Event(i, "n1", kind::kSignal);
  Append(bytes, File());
  {
    auto db = Database::Open(disk + "/goodput.db", Database::Mode::kReadWrite);
    ASSERT_TRUE(db.ok()) << db.status();
    std::ofstream(disk + "/ballast") << std::string(800'000, 'x');
    const auto report = IngestSpool(*db, Root(), {});
    EXPECT_TRUE(absl::IsResourceExhausted(report.status())) << report.status();
    EXPECT_TRUE(InDatabase(*db).empty());
    fs::remove(disk + "/ballast");
    std::error_code ignored;
    ASSERT_EQ(mount(nullptr, disk.c_str(), nullptr, MS_REMOUNT, "size=64m"), 0);
    const auto again = IngestSpool(*db, Root(), {});
    EXPECT_TRUE(again.ok()) << again.status();
    ExpectSame(InSpool(), InDatabase(*db));
  }
  unmount();
}

// ---- step blocks ----

TEST(MarkBlock, IsAsItsDocumentSays) {
  const std::string example = ExampleOf("mark_block.md");
  MarkPacker packer;
  packer.Add({1000, PackedMark::Kind::kCheckpoint, true, 100, "", "0", 0, 1});
  packer.Add({1300, PackedMark::Kind::kCheckpoint, false, 100, "", "0", 0, 2});
  packer.Add({2000, PackedMark::Kind::kPhase, true, std::nullopt, "eval", "0", 0, 90});
  EXPECT_EQ(packer.Finish(), example);
  std::string all;
  EXPECT_TRUE(UnpackMarks(example, [&](const PackedMark& mark) {
    all += Cat(mark.t_ns, mark.begin ? " begins " : " ends ", mark.step.value_or(-1), mark.name, " ",
               mark.slurm_step, " ", mark.task, " ", mark.offset, ";");
  }));
  EXPECT_EQ(all, "1000 begins 100 0 0 1;1300 ends 100 0 0 2;2000 begins -1eval 0 0 90;");
}

TEST(StepBlock, RandomBytesNeverCrash) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string data(random() % 60, '\0');
    for (char& c : data) c = static_cast<char>(random());
    std::vector<PackedStep> steps;
    UnpackSteps(data, steps);
  }
}

TEST_F(StoreTest, StepsRollOverIntoNewBlocks) {
  Database db = Db();
  std::int64_t next = 0;
  // In uneven bites, so that blocks are reopened at every fill.
  for (const std::int64_t bite : {1LL, 2046LL, 1LL, 1LL, 2046LL, 1LL, 1LL, 4000LL, 600LL, 3LL}) {
    std::string bytes;
    for (std::int64_t i = 0; i < bite; ++i) bytes += StepMarkRecord(next++);
    Append(bytes, File());
    Ingest(db);
  }
  ExpectComplete();
  Statement blocks = db.Prepare("SELECT count(*), max(marks), sum(marks) FROM step_block");
  ASSERT_TRUE(blocks.Step());
  EXPECT_EQ(blocks.Int(0), 3);
  EXPECT_EQ(blocks.Int(1), kMarksPerBlock);
  EXPECT_EQ(blocks.Int(2), next);
}

TEST_F(StoreTest, AClockThatIsSetBeginsANewBlock) {
  const auto mark = [](std::int64_t step, std::int64_t ahead_ns) {
    RecordBuilder builder(kind::kMark, {fake_now_ns + step + ahead_ns, step, "n1", 42});
    builder.Text(key::kCluster, "c1");
    builder.Int(key::kJob, kJob);
    builder.Text(key::kSlurmStep, "0");
    builder.Text(key::kMark, "step");
    builder.Text(key::kEdge, "begin");
    builder.Int(key::kTrainStep, step);
    return std::string(builder.Finish());
  };
  Append(mark(1, 0) + mark(2, 1000) + mark(3, 3'600'000'000'000), File());
  Ingest();
  Append(mark(4, 3'600'000'000'000) + mark(5, 0), File());
  Database db = Db();
  Ingest(db);
  const auto steps = LoadSteps(db, {"c1", kJob});
  ASSERT_TRUE(steps.ok()) << steps.status();
  std::vector<std::int64_t> ahead;
  for (const StepRow& step : *steps) ahead.push_back(step.clock_ns.value_or(-1) - fake_now_ns);
  EXPECT_EQ(ahead, (std::vector<std::int64_t>{0, 0, 3'600'000'000'000, 3'600'000'000'000, 0}));
  Statement blocks = db.Prepare("SELECT count(*) FROM step_block");
  ASSERT_TRUE(blocks.Step());
  EXPECT_EQ(blocks.Int(0), 3);
}

TEST_F(StoreTest, EvenStepsAreKnownWithoutReadingThem) {
  std::string bytes;
  for (std::int64_t i = 0; i < kMarksPerBlock + 100; ++i) bytes += StepMarkRecord(i, "n1", "0", 0);
  Append(bytes, File());
  Database db = Db();
  Ingest(db);
  const auto steps = LoadJobSteps(db, {"c1", kJob});
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_TRUE(steps->marks.empty());
  ASSERT_EQ(steps->blocks.size(), 2U);
  const StepBlockRow& second = steps->blocks[1];
  EXPECT_EQ(second.marks, 100);
  EXPECT_EQ(second.stride, 1);
  EXPECT_EQ(second.first.step, kMarksPerBlock);
  EXPECT_EQ(second.last.step, kMarksPerBlock + 99);
  EXPECT_EQ(second.durations.count(), 99);
  EXPECT_EQ(second.durations.UpperBound(), 1'000'191) << "the top of the bin of 1,000,003 ns";
  // What is read later is what was known, though more came meanwhile.
  Append(StepMarkRecord(kMarksPerBlock + 100, "n1", "0", 0), File());
  Ingest(db);
  const auto marks = LoadStepsOfBlock(db, second);
  ASSERT_TRUE(marks.ok()) << marks.status();
  ASSERT_EQ(marks->size(), 100U);
  EXPECT_EQ(marks->back().step, second.last.step);
  EXPECT_EQ(marks->back().t_ns, second.last.t_ns);
  EXPECT_EQ(marks->back().offset, second.last.offset);
}

TEST_F(StoreTest, UnevenStepsAreReadAtOnce) {
  std::string even;
  for (std::int64_t i = 0; i < 200; ++i) even += StepMarkRecord(i, "n1", "0", 0);
  std::string back;
  for (std::int64_t i = 0; i < 200; ++i) back += StepMarkRecord(i == 150 ? 10 : i, "n1", "1", 0);
  std::string few;
  for (std::int64_t i = 0; i < 10; ++i) few += StepMarkRecord(i, "n1", "2", 0);
  Append(even + back + few, File());
  Database db = Db();
  Ingest(db);
  const auto steps = LoadJobSteps(db, {"c1", kJob});
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->blocks.size(), 1U);
  EXPECT_EQ(steps->blocks[0].slurm_step, "0");
  EXPECT_EQ(steps->marks.size(), 210U);
}

TEST_F(StoreTest, StepsOfSeveralSrunsAreKeptApart) {
  Append(StepMarkRecord(1, "n1", "0") + StepMarkRecord(2, "n1", "1") + StepMarkRecord(3, "n1", "batch"),
         File());
  Ingest();
  ExpectComplete();
  Database db = Db();
  EXPECT_EQ(LoadSteps(db, {"c1", kJob})->size(), 3U);
  EXPECT_TRUE(LoadSteps(db, {"c1", kJob + 1})->empty());
}

TEST_F(StoreTest, ADamagedBlockIsAnErrorThatNamesTheDatabase) {
  Append(StepMarkRecord(1), File());
  Ingest();
  Database db = Db();
  ASSERT_TRUE(db.Execute("UPDATE step_block SET data = x'80'").ok());
  const auto steps = LoadSteps(db, {"c1", kJob});
  ASSERT_TRUE(absl::IsDataLoss(steps.status()));
  EXPECT_NE(std::string(steps.status().message()).find(DbPath()), std::string::npos);
}

// ---- reading back ----

TEST_F(StoreTest, JobsReadOneAfterTheOtherAreTheSameAsEachAlone) {
  Database db = Db();
  std::vector<AccountingRow> rows;
  for (std::int64_t i = 0; i < 400; ++i) {
    AccountingRow row;
    row.cluster = i % 5 == 0 ? "c2" : "c1";
    row.job_id = 10 + i / 3 * 2;
    row.submit_s = 1000 - i % 3 * 100;
    row.name = "row " + std::to_string(i);
    rows.push_back(row);
  }
  ASSERT_TRUE(StoreAccounting(db, rows, 1).ok());
  std::vector<JobKey> jobs;
  for (const std::string cluster : {"c1", "c2", "c3"}) {
    for (std::int64_t id = 5; id < 290; ++id) {
      jobs.push_back({cluster, id, std::numeric_limits<std::int64_t>::min(), 850});
      jobs.push_back({cluster, id, 850});
    }
  }
  for (const int order : {0, 1, 2}) {
    if (order == 1) std::reverse(jobs.begin(), jobs.end());
    if (order == 2) std::shuffle(jobs.begin(), jobs.end(), std::mt19937(4));
    AccountingReader reader(db);
    std::size_t found = 0;
    for (const JobKey& job : jobs) {
      const auto in_turn = reader.RowsOf(job);
      const auto alone = LoadAccounting(db, job);
      ASSERT_TRUE(in_turn.ok() && alone.ok());
      ASSERT_EQ(in_turn->size(), alone->size()) << job;
      for (std::size_t i = 0; i < alone->size(); ++i) EXPECT_EQ((*in_turn)[i].name, (*alone)[i].name) << job;
      found += alone->size();
    }
    EXPECT_EQ(found, 400U);
  }
}

TEST_F(StoreTest, JobsAreReadBackwardsFromAnyOfThem) {
  Database db = Db();
  std::vector<AccountingRow> rows;
  std::vector<JobKey> jobs;
  for (std::int64_t id = 1; id <= 4; ++id) {
    // Each id was used by three jobs, as pages of `list --reverse` meet them.
    for (std::int64_t from : {0, 100, 200}) {
      AccountingRow row;
      row.cluster = "c";
      row.job_id = id;
      row.submit_s = from + 50;
      rows.push_back(row);
      jobs.push_back({"c", id, from, from + 100});
    }
  }
  ASSERT_TRUE(StoreAccounting(db, rows, 1).ok());
  for (std::size_t first = 0; first < jobs.size(); ++first) {
    AccountingReader reader(db);
    for (std::size_t i = first + 1; i-- > 0;) {
      const auto read = reader.RowsOf(jobs[i]);
      ASSERT_TRUE(read.ok());
      EXPECT_EQ(read->size(), 1U) << jobs[i] << " after " << jobs[first];
    }
  }
}

TEST_F(StoreTest, AccountingRowsComeBackAndTheNewestReadingStands) {
  Database db = Db();
  AccountingRow row;
  row.cluster = "c1";
  row.job_id = 7;
  row.submit_s = 100;
  row.eligible_s = 110;
  row.start_s = 120;
  row.state = "RUNNING";
  row.user = "a'b\"c|d\n";
  row.name = "\xff\x01";
  row.node_list = "n[1-4]";
  row.nodes = 4;
  row.gpus = 32;
  row.gpu_type = "h100";
  row.job_id_text = "5_2";
  AccountingRow other = row;
  other.submit_s = 500;
  other.start_s.reset();
  ASSERT_TRUE(StoreAccounting(db, {row, other}, 1).ok());
  row.state = "NODE_FAIL";
  row.end_s = 200;
  row.exit_code = 0;
  row.exit_signal = 9;
  row.restarts = 1;
  row.failed_node = "n3";
  ASSERT_TRUE(StoreAccounting(db, {row}, 2).ok());
  const auto rows = LoadAccounting(db, {"c1", 7});
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  const AccountingRow& back = rows->front();
  EXPECT_EQ(back.state, "NODE_FAIL");
  EXPECT_EQ(back.end_s, 200);
  EXPECT_EQ(back.exit_code, 0);
  EXPECT_EQ(back.exit_signal, 9);
  EXPECT_EQ(back.restarts, 1);
  EXPECT_EQ(back.failed_node, "n3");
  EXPECT_EQ(back.user, row.user);
  EXPECT_EQ(back.name, row.name);
  EXPECT_EQ(back.job_id_text, "5_2");
  EXPECT_FALSE(rows->back().start_s);
  EXPECT_FALSE(rows->back().exit_code);
  EXPECT_EQ(LoadAccounting(db, {"c1", 8})->size(), 0U);
  EXPECT_EQ(LoadStartedBetween(db, "c1", 120, 120)->size(), 1U);
  EXPECT_EQ(LoadStartedBetween(db, "c1", 121, 500)->size(), 0U);
  EXPECT_EQ(*KnownJobs(db), (std::vector<JobKey>{{"c1", 7}}));
}

TEST_F(StoreTest, ARunIsWhatItsJobsLastCalledIt) {
  const auto prolog = [](std::int64_t job, std::int64_t t, const std::string& run) {
    RecordBuilder builder(kind::kJobProlog, {t, 1, "n1", 1});
    builder.Int(key::kJob, job);
    builder.OpenObject(key::kOpt);
    if (!run.empty()) builder.Text(key::kRun, run);
    builder.CloseObject();
    return std::string(builder.Finish());
  };
  Append(prolog(1, 10, "llama") + prolog(2, 20, "llama") + prolog(3, 30, "") + prolog(2, 40, "other"),
         File());
  Ingest();
  Database db = Db();
  const auto jobs = KnownJobs(db);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(*jobs, (std::vector<JobKey>{{"default", 1}, {"default", 2}, {"default", 3}}));
  const auto names = RunNames(db, *jobs);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(*names, (std::map<JobKey, std::string>{{{"default", 1}, "llama"}, {{"default", 2}, "other"}}));
}

TEST_F(StoreTest, ABrokenOptionInOneRecordDoesNotHideTheOthers) {
  Append(
      "\n{\"v\":1,\"t\":1,\"m\":1,\"node\":\"n1\",\"kind\":\"job_prolog\",\"job\":1,\"opt\":{\"run\":\"a\"}}"
      "\n",
      File());
  Append("\n{\"v\":1,\"t\":1,\"m\":1,\"node\":\"n1\",\"kind\":\"job_prolog\",\"job\":2,\"opt\":7}\n", File());
  Append(
      "\n{\"v\":1,\"t\":1,\"m\":1,\"node\":\"n1\",\"kind\":\"job_prolog\",\"job\":3,\"opt\":{\"run\":{\"x\":["
      "]}}}\n",
      File());
  EXPECT_EQ(Ingest().records, 3);
  Database db = Db();
  const auto names = RunNames(db, *KnownJobs(db));
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->at({"default", 1}), "a");
}

TEST_F(StoreTest, EventsOfNoJobAreFoundByKindAndTime) {
  for (const std::int64_t t : {10, 20, 30}) {
    RecordBuilder builder(kind::kNodeState, {t, 1, "@controller", 1});
    builder.Text(key::kState, "DOWN");
    Append(std::string(builder.Finish()), File("@controller"));
  }
  Ingest();
  Database db = Db();
  EXPECT_EQ(LoadAll(db, EventsOf::NoJob("default", "node_state", 10, 21))->size(), 2U);
  EXPECT_EQ(LoadAll(db, EventsOf::NoJob("default", "host", 0, 100))->size(), 0U);
}

}  // namespace
}  // namespace goodput
