// The controller's ingest of the shared spool: thousands of untrusted folders, read only if something may
// have changed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "spank/event.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/losses.h"
#include "tests/spank/faulty_files.h"
#include "tests/spank/temp_folder.h"
#include "tools/sources/shared_spool/files_as.h"
#include "tools/sources/shared_spool/ingest_helper.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

std::int64_t now_s = 0;
constexpr Clock kSet = {[]() noexcept { return now_s * 1'000'000'000; },
                        []() noexcept { return now_s * 1'000'000'000; }};
constexpr std::int64_t kDay = 86400;

class SharedIngestTest : public testing::Test {
 protected:
  SharedIngestTest() : db_(*Database::Open(folder_.path() + "/db", Database::Mode::kReadWrite)) {
    now_s = time(nullptr);
    options_.cluster = "a3";
    options_.shared = true;
    options_.owner = geteuid();
    options_.clock = kSet;
    options_.memory = &memory_;
    fs::create_directory(Root());
  }
  std::string Root() const { return folder_.path() + "/shared"; }
  std::string Path(const std::string& node, const std::string& file) const {
    return Root() + "/" + node + "/" + file;
  }
  void Append(const std::string& node, const std::string& file, const std::string& record_node = "") {
    if (!fs::exists(Root() + "/" + node)) {
      fs::create_directory(Root() + "/" + node);
      chmod((Root() + "/" + node).c_str(), 0700);
    }
    const std::string named = record_node.empty() ? node : record_node;
    RecordBuilder record(kind::kStepStart, {++written_, 1, named, 1});
    record.Text(key::kCluster, "a3");
    std::ofstream(Path(node, file), std::ios::app) << record.Finish();
  }
  void SetAge(const std::string& node, const std::string& file, std::int64_t age_s) const {
    const std::array<timespec, 2> times{{{now_s - age_s, 0}, {now_s - age_s, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, Path(node, file).c_str(), times.data(), 0), 0);
  }
  IngestReport Pass(Files& files = RealFiles()) {
    IngestOptions options = options_;
    options.files = &files;
    const auto report = IngestSpool(db_, Root(), options);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : IngestReport{};
  }
  std::int64_t Count(const std::string& table) {
    Statement rows = db_.Prepare("SELECT count(*) FROM " + table);
    return rows.Step() ? rows.Int(0) : -1;
  }

  TempFolder folder_;
  Database db_;
  SpoolMemory memory_;
  IngestOptions options_;
  std::int64_t written_ = 0;
};

TEST_F(SharedIngestTest, FoldersThatAreNoNodesOwnAreRefusedAndTheOthersTaken) {
  Append("n1", "b.1.jsonl");
  Append("n2", "b.1.jsonl");
  Append("n3", "b.1.jsonl");
  Append("n4", "b.1.jsonl");
  Append("@controller", "b.1.jsonl");
  fs::create_directory_symlink(Root() + "/n1", Root() + "/n5");
  std::ofstream(Root() + "/file") << "x";
  chmod((Root() + "/n2").c_str(), 0770);
  ASSERT_TRUE(geteuid() != 0 || chown((Root() + "/n3").c_str(), 65534, 65534) == 0);
  fs::create_symlink(Path("n1", "b.1.jsonl"), Path("n4", "b.2.jsonl"));
  const IngestReport report = Pass();
  EXPECT_EQ(report.records, geteuid() == 0 ? 2 : 3);
  EXPECT_EQ(report.problems.size(), geteuid() == 0 ? 4U : 3U);
  // It is taken once it is right.
  chmod((Root() + "/n2").c_str(), 0700);
  EXPECT_EQ(Pass().records, 1);
}

TEST_F(SharedIngestTest, ARecordOfAnotherNodeIsSetAside) {
  Append("n1", "b.1.jsonl");
  Append("n1", "b.1.jsonl", "n2");
  const IngestReport report = Pass();
  EXPECT_EQ(report.records, 1);
  EXPECT_EQ(report.bad, 1);
}

TEST_F(SharedIngestTest, WhereNothingChangedHardlyAnythingIsLookedAt) {
  constexpr int kFiles = 50;
  for (int file = 0; file < kFiles; ++file) {
    Append("n1", "b." + std::to_string(file) + ".jsonl");
    SetAge("n1", "b." + std::to_string(file) + ".jsonl", kDay * (kFiles - file));
  }
  Pass();
  now_s += 10;
  Pass();
  FaultyFiles files;
  Pass(files);
  EXPECT_LT(files.calls(), 20);
  // The last file is looked at each time, however old it is, and a new one seen by its folder.
  Append("n1", "b.49.jsonl");
  EXPECT_EQ(Pass().records, 1);
  Append("n1", "b.1.jsonl");
  EXPECT_EQ(Pass().records, 0) << "nothing says that a file of last month grew";
  Append("n1", "b.50.jsonl");
  EXPECT_EQ(Pass().records, 2) << "the folder has changed: all of it is looked at";
  Append("n1", "b.50.jsonl");
  EXPECT_EQ(Pass().records, 1);
}

TEST_F(SharedIngestTest, AFileOfYesterdayThatGrewIsSeenWithinTheHour) {
  Append("n1", "b.1.jsonl");
  Append("n1", "b.2.jsonl");
  SetAge("n1", "b.1.jsonl", kDay);
  Pass();
  now_s += 10;
  Pass();
  Append("n1", "b.1.jsonl");
  EXPECT_EQ(Pass().records, 0);
  now_s += 3601;
  EXPECT_EQ(Pass().records, 1);
}

TEST_F(SharedIngestTest, ARecordThatWasNotWholeIsTakenAsSoonAsItIs) {
  Append("n1", "b.1.jsonl");
  Append("n1", "b.2.jsonl");
  RecordBuilder record(kind::kStepStart, {++written_, 1, "n1", 1});
  record.Text(key::kCluster, "a3");
  const std::string text(record.Finish());
  std::ofstream(Path("n1", "b.1.jsonl"), std::ios::app) << text.substr(0, 30);
  SetAge("n1", "b.1.jsonl", kDay);
  EXPECT_EQ(Pass().records, 2);
  now_s += 10;
  Pass();
  std::ofstream(Path("n1", "b.1.jsonl"), std::ios::app) << text.substr(30);
  EXPECT_EQ(Pass().records, 1) << "however old the file is";
}

TEST_F(SharedIngestTest, AClockThatIsHoursAheadHidesNothing) {
  Append("n1", "b.1.jsonl");
  Append("n1", "b.2.jsonl");
  now_s += 10 * 3600;
  Pass();
  now_s += 10;
  Pass();
  Append("n1", "b.1.jsonl");
  Append("n1", "b.2.jsonl");
  EXPECT_EQ(Pass().records, 2);
}

TEST_F(SharedIngestTest, WithMemoryAndWithoutItTheSameIsTaken) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  for (int round = 0; round < 300; ++round) {
    const std::string node = "n" + std::to_string(random() % 4);
    Append(node, "b." + std::to_string(random() % 3 + static_cast<unsigned>(round) / 50) + ".jsonl");
    if (random() % 3 == 0) std::ofstream(Path(node, "b.torn.jsonl"), std::ios::app) << "\n{\"v\":1";
    now_s += static_cast<std::int64_t>(random() % 5);
    if (random() % 2 == 0) Pass();
    if (random() % 20 == 0) memory_ = {};
    if (random() % 10 == 0) {
      // Another, beside it.
      IngestOptions other = options_;
      other.memory = nullptr;
      ASSERT_TRUE(IngestSpool(db_, Root(), other).ok());
    }
  }
  now_s += 10;
  Pass();
  EXPECT_EQ(Count("event"), written_);
  memory_ = {};
  EXPECT_EQ(Pass().records, 0);
}

TEST_F(SharedIngestTest, OutOfTimeItGoesOnWhereItEndedAndComesToAll) {
  for (int node = 10; node < 30; ++node) Append("n" + std::to_string(node), "b.1.jsonl");
  int asked = 0;
  options_.out_of_time = [&] { return ++asked % 7 == 0; };
  int passes = 0;
  for (; passes < 100 && Count("event") < written_; ++passes) Pass();
  EXPECT_EQ(Count("event"), written_);
  EXPECT_GT(passes, 1);
  options_.out_of_time = nullptr;
  Pass();  // what is before the place it went on from was not looked at
  EXPECT_TRUE(Pass().whole);
}

TEST_F(SharedIngestTest, AFolderToAvoidIsLeftAlone) {
  Append("n1", "b.1.jsonl");
  Append("n2", "b.1.jsonl");
  options_.avoid = {"n1"};
  EXPECT_EQ(Pass().records, 1);
  options_.avoid.clear();
  EXPECT_EQ(Pass().records, 1);
}

TEST_F(SharedIngestTest, OnlyWhatIsOldAndInTheDatabaseIsRemoved) {
  options_.remove_after_s = 10 * kDay;
  for (const char* file : {"b.old.jsonl", "b.young.jsonl", "b.torn.jsonl"}) Append("n1", file);
  std::ofstream(Path("n1", "b.torn.jsonl"), std::ios::app) << "\n{\"v\":1";
  SetAge("n1", "b.old.jsonl", 11 * kDay);
  SetAge("n1", "b.torn.jsonl", 11 * kDay);
  SetAge("n1", "b.young.jsonl", 9 * kDay);
  EXPECT_EQ(Pass().removed, 0) << "it has only just been taken";
  EXPECT_EQ(Pass().removed, 1);
  EXPECT_FALSE(fs::exists(Path("n1", "b.old.jsonl")));
  EXPECT_TRUE(fs::exists(Path("n1", "b.young.jsonl")));
  EXPECT_TRUE(fs::exists(Path("n1", "b.torn.jsonl")));
  EXPECT_EQ(Count("event"), 3);
  now_s += 2 * kDay;
  Pass();
  EXPECT_FALSE(fs::exists(Path("n1", "b.young.jsonl")));
}

TEST_F(SharedIngestTest, NothingIsRemovedWhoseWritersMayNotBeDone) {
  options_.remove_after_s = 1;
  Append("n1", "b.old.jsonl");
  SetAge("n1", "b.old.jsonl", 10);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(Pass().removed, 0);
  now_s += 2 * kDay;
  EXPECT_EQ(Pass().removed, 1);
}

// Two controllers with a database each.
TEST_F(SharedIngestTest, OfTwoDatabasesEachTakesAllAndWhoeverComesFirstRemoves) {
  options_.remove_after_s = 10 * kDay;
  Append("n1", "b.old.jsonl");
  Append("n1", "b.young.jsonl");
  SetAge("n1", "b.old.jsonl", 11 * kDay);
  Database second = *Database::Open(folder_.path() + "/second", Database::Mode::kReadWrite);
  SpoolMemory its_memory;
  IngestOptions its = options_;
  its.memory = &its_memory;
  EXPECT_EQ(IngestSpool(second, Root(), its)->records, 2);
  EXPECT_EQ(Pass().records, 2);
  EXPECT_EQ(Pass().removed, 1);
  const absl::StatusOr<IngestReport> later = IngestSpool(second, Root(), its);
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_TRUE(later->problems.empty()) << later->problems.front();
  EXPECT_EQ(later->removed, 0);
  Append("n1", "b.young.jsonl");
  EXPECT_EQ(IngestSpool(second, Root(), its)->records, 1);
  EXPECT_EQ(Pass().records, 1);

  // A controller that was away for longer than files are kept.
  Database third = *Database::Open(folder_.path() + "/third", Database::Mode::kReadWrite);
  its_memory = SpoolMemory();
  EXPECT_EQ(IngestSpool(third, Root(), its)->records, 2) << "of the file that is still there";
}

TEST_F(SharedIngestTest, HeartbeatsAndLossesAreTakenWhenTheyChange) {
  Append("n1", "b.1.jsonl");
  fs::create_directory(Root() + "/@heartbeat");
  const auto say = [&](const std::string& text) { std::ofstream(Root() + "/@heartbeat/n1") << text; };
  say(R"({"v":1,"t":50,"m":5,"node":"n1","boot":"b","jobs":[{"cluster":"a3","job":7,"since":1}]})");
  std::ofstream(Path("n1", "counts")) << "no_space=3 marks.not_owner=2\n";
  Pass();
  EXPECT_EQ(Count("heartbeat"), 1);
  const auto losses = LoadLosses(db_);
  ASSERT_TRUE(losses.ok() && losses->size() == 1);
  EXPECT_EQ(losses->front().counts.at("no_space"), 3);
  say(R"({"v":1,"t":60,"m":15,"node":"n1","boot":"b","jobs":[]} )");
  std::ofstream(Path("n1", "counts")) << "\n";
  Pass();
  EXPECT_EQ(Count("heartbeat"), 0);
  EXPECT_TRUE(LoadLosses(db_)->empty());
  say(R"({"v":1,"t":70,"m":25,"node":"n2","boot":"b","jobs":[{"cluster":"a3","job":7,"since":1}]})");
  EXPECT_EQ(Pass().problems.size(), 1U) << "another node's";
  EXPECT_EQ(Count("heartbeat"), 0);
}

TEST_F(SharedIngestTest, AtAnyFailingCallTheOthersAreTakenAndTheRestLater) {
  const auto write = [&] {
    for (int node = 1; node <= 3; ++node) Append("n" + std::to_string(node), "b.1.jsonl");
  };
  write();
  FaultyFiles none;
  Pass(none);
  for (int at = 1; at <= none.calls(); ++at) {
    write();
    FaultyFiles::Fault fault;
    fault.error = EIO;
    FaultyFiles files(at, fault);
    IngestOptions options = options_;
    options.files = &files;
    const auto report = IngestSpool(db_, Root(), options);
    EXPECT_TRUE(!report.ok() || report->records >= 2) << files.where();
    Pass();
    EXPECT_EQ(Count("event"), written_) << at << " " << files.where();
  }
}

TEST_F(SharedIngestTest, ThroughAHelperItIsTheSameAsOftenAsItIsKilled) {
  AbandonedHelpers abandoned(1);
  Config config;
  config.database = folder_.path() + "/db";
  config.shared_spool = Root();
  config.cluster = "a3";
  HelperProcess::Options helper;
  helper.name = kIngestHelper;
  helper.arguments = IngestHelperArguments(config, "");
  helper.abandoned = &abandoned;
  helper.timeout = absl::Seconds(60);
  helper.longest_pause = absl::ZeroDuration();
  HelperProcess process(helper);
  for (int round = 0; round < 5; ++round) {
    Append("n1", "b.1.jsonl");
    Append("n2", "b.1.jsonl");
    const auto answer = process.Call(IngestRequest({"n2"}));
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto report = ParseIngestAnswer(*answer);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->records, 1);
    if (round % 2 == 0) process.Stop();
  }
  chmod((Root() + "/n1").c_str(), 0777);
  const auto report = ParseIngestAnswer(*process.Call(""));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->records, 5);
  ASSERT_EQ(report->problems.size(), 1U);
  EXPECT_NE(report->problems[0].find("n1: is uid"), std::string::npos) << report->problems[0];
  fs::remove_all(Root());
  EXPECT_TRUE(absl::IsNotFound(ParseIngestAnswer(*process.Call("")).status()));
}

TEST_F(SharedIngestTest, ItIsReadAsTheUserThatMay) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Append("n1", "b.1.jsonl");
  for (const std::string& path : {Root(), Root() + "/n1", Path("n1", "b.1.jsonl")}) {
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(chmod(folder_.path().c_str(), 0711), 0);
  Config config;
  config.shared_spool = Root();
  EXPECT_EQ(IngestShared(db_, config)->problems.size(), 1U) << "it is not root's";
  config.shared_spool_user = "nobody";
  const auto report = IngestShared(db_, config);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->records, 1);
  EXPECT_EQ(geteuid(), 0U);
  EXPECT_TRUE(FilesAs(65534, 65534).Works());
  // That user's rights, not root's.
  ASSERT_EQ(chown(Path("n1", "b.1.jsonl").c_str(), 0, 0), 0);
  Append("n1", "b.1.jsonl");
  ASSERT_EQ(chmod(Path("n1", "b.1.jsonl").c_str(), 0600), 0);
  EXPECT_EQ(IngestShared(db_, config)->problems.size(), 1U);
  config.shared_spool_user = "there-is-no-such-user";
  EXPECT_TRUE(absl::IsNotFound(IngestShared(db_, config).status()));
}

}  // namespace
}  // namespace goodput
