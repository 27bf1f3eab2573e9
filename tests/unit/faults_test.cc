// What is kept when any single call goes wrong: spool, job state files and ingest, with files that fail,
// write too little, hang or die at call k, for every k.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/fixed_text.h"
#include "spank/job_state.h"
#include "spank/spool.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/spool_line.h"
#include "tests/spank/faulty_files.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;
using Fault = FaultyFiles::Fault;

// Thousands of small spools and databases: in memory, if possible.
const int in_memory = access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 0) : 0;

constexpr uint32_t kJob = 12;
// Records of the first process; then of the next process, of a concurrent one, and of a later one.
constexpr int kStoryRecords = 5;
constexpr int kBeside = 98;
constexpr int kAfter = 99;

int64_t story_hour = 0;
constexpr Clock kStoryClock = {
    []() noexcept { return int64_t{1'767'225'600'000'000'000} + story_hour * 3600 * 1'000'000'000; },
    []() noexcept { return int64_t{1}; }};

Spool::Config ConfigOf(const TempFolder& folder, Files& files) {
  Spool::Config config;
  config.root = folder.path() + "/spool";
  config.node = "n1";
  config.owner = geteuid();
  config.clock = kStoryClock;
  config.files = &files;
  return config;
}

Append WriteRecord(Spool& spool, int number) {
  RecordBuilder record(kind::kTaskStart, {number, 1, "n1", 1});
  record.Text(key::kCluster, "a3");
  record.Int(key::kJob, kJob);
  record.Int(key::kTask, number);
  return spool.Write(record.Finish());
}

// What one process did, and the results it got. It is in memory shared with the parent, because some
// processes die.
struct Told {
  bool opened = false;
  std::array<std::optional<Append>, kStoryRecords + 1> record;
};

// What the plugin's processes do for one job on one node, in a single process.
void TellStory(const TempFolder& folder, FaultyFiles& files, Told& told) {
  story_hour = 0;
  Spool spool;
  told.opened = spool.Open(ConfigOf(folder, files)).empty();
  JobState note;
  note.gpus = 8;
  CopyText("a3", &note.cluster);
  RememberCluster(spool, note);
  WriteJobState(spool, kJob, note);
  told.record[1] = WriteRecord(spool, 1);
  told.record[2] = WriteRecord(spool, 2);
  ReadJobState(spool, kJob);
  StateOfUnknownJob(spool);
  story_hour = 1;
  told.record[3] = WriteRecord(spool, 3);
  told.record[4] = WriteRecord(spool, 4);
  DropJobState(spool, kJob + 1);
  files.Mend();
  told.record[5] = WriteRecord(spool, 5);
}

// The number of finished lines in the spool that are not records, and how often each complete record occurs.
struct Kept {
  int torn = 0;
  std::map<int64_t, int> records;
};

Kept ReadSpool(const TempFolder& folder) {
  Kept kept;
  SpoolLineParser parser;
  for (const auto& file : fs::directory_iterator(folder.path() + "/spool/n1")) {
    if (file.path().extension() != ".jsonl") continue;
    std::ifstream in(file.path(), std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || in.eof()) continue;  // a reader stops at the last newline
      line.reserve(line.size() + SpoolLineParser::kPadding);
      const auto record = parser.Parse(line);
      if (record.ok()) {
        ++kept.records[record->task.value_or(0)];
      } else {
        ++kept.torn;
      }
    }
  }
  return kept;
}

// All data of the spool in the database, as text.
std::string Dump(Database& db) {
  std::string all;
  for (const char* query :
       {"SELECT node, file, offset, records, bad, cluster FROM source ORDER BY 1, 2",
        "SELECT node, file, event.offset, t_ns, kind, record FROM event, source WHERE id = source_id"
        " ORDER BY 1, 2, 3",
        "SELECT node, file, job_id, slurm_step, seq, marks, hex(data) FROM step_block, source"
        " WHERE id = source_id ORDER BY 1, 2, 3, 4, 5",
        "SELECT node, file, quarantine.offset, reason, excerpt, '' FROM quarantine, source"
        " WHERE id = source_id ORDER BY 1, 2, 3"}) {
    Statement rows = db.Prepare(query);
    while (rows.Step()) {
      for (int column = 0; column < 6; ++column) all += rows.Text(column) + "|";
      all += "\n";
    }
    EXPECT_TRUE(rows.status().ok()) << rows.status();
  }
  return all;
}

std::int64_t Count(Database& db, const char* table) {
  Statement rows = db.Prepare(std::string("SELECT count(*) FROM ") + table);
  return rows.Step() ? rows.Int(0) : -1;
}

absl::StatusOr<IngestReport> Ingest(const TempFolder& folder, Files& files = RealFiles()) {
  absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
  if (!db.ok()) return db.status();
  IngestOptions options;
  options.files = &files;
  return IngestSpool(*db, folder.path() + "/spool", options);
}

// In every case, the next process writes complete records, and the whole spool is ingested exactly once.
void ExpectSoundSpool(const TempFolder& folder) {
  Spool next;
  ASSERT_EQ(next.Open(ConfigOf(folder, RealFiles())), "");
  EXPECT_EQ(WriteRecord(next, kAfter), Append::kWritten);
  const auto note = ReadJobState(next, kJob);
  if (note) {
    EXPECT_TRUE(note->enabled);
    EXPECT_EQ(note->gpus, 8);
    EXPECT_STREQ(note->cluster.data(), "a3");
  }
  const std::string cluster = StateOfUnknownJob(next).cluster.data();
  EXPECT_TRUE(cluster == "a3" || cluster.empty()) << cluster;

  const Kept kept = ReadSpool(folder);
  EXPECT_EQ(kept.records.count(kAfter), 1U);
  ASSERT_TRUE(Ingest(folder).ok());
  const auto again = Ingest(folder);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->records + again->bad, 0);
  absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadOnly);
  ASSERT_TRUE(db.ok()) << db.status();
  EXPECT_EQ(Count(*db, "event"), static_cast<std::int64_t>(kept.records.size()));
  EXPECT_EQ(Count(*db, "quarantine"), kept.torn);
}

uint64_t Dropped(const TempFolder& folder) {
  Spool spool;
  EXPECT_EQ(spool.Open(ConfigOf(folder, RealFiles())), "");
  uint64_t sum = 0;
  for (const uint64_t count : spool.Drops()) sum += count;
  return sum;
}

int CallsOfStory() {
  TempFolder folder;
  FaultyFiles files;
  Told told;
  TellStory(folder, files, told);
  EXPECT_EQ(told.record[kStoryRecords], Append::kWritten);
  return files.calls();
}

struct NamedFault {
  const char* name;
  Fault fault;
};

Fault Fails(int error) {
  Fault fault;
  fault.error = error;
  return fault;
}
Fault FailsFromThenOn(int error) {
  Fault fault = Fails(error);
  fault.lasting = true;
  return fault;
}
Fault OutOfDescriptors(int error) {
  Fault fault = FailsFromThenOn(error);
  fault.only_descriptors = true;
  return fault;
}
Fault Moves(int64_t bytes) {
  Fault fault;
  fault.moved = bytes;
  return fault;
}
Fault LacksLast(int64_t bytes) {
  Fault fault;
  fault.spared = bytes;
  return fault;
}

const std::vector<NamedFault>& EveryFault() {
  static const std::vector<NamedFault> faults = {
      {"ENOSPC", Fails(ENOSPC)},
      {"EIO", Fails(EIO)},
      {"EINTR", Fails(EINTR)},
      {"EMFILE", Fails(EMFILE)},
      {"ENFILE", Fails(ENFILE)},
      {"EROFS", Fails(EROFS)},
      {"ENOSPC from then on", FailsFromThenOn(ENOSPC)},
      {"EIO from then on", FailsFromThenOn(EIO)},
      {"EINTR for ever", FailsFromThenOn(EINTR)},
      {"no descriptors from then on", OutOfDescriptors(EMFILE)},
      {"no descriptors in the system", OutOfDescriptors(ENFILE)},
      {"nothing moved", Moves(0)},
      {"one byte moved", Moves(1)},
      {"cut in the middle", Moves(40)},
      {"the last byte lacking", LacksLast(1)},
      {"the last two bytes lacking", LacksLast(2)},
  };
  return faults;
}

// Every fault strikes at every call, except in builds with sanitizers, which take ten times as long: there
// each strikes at every fourth call, and the next one a call later, so that every call has several.
#ifdef __SANITIZE_ADDRESS__
constexpr int kStride = 4;
#else
constexpr int kStride = 1;
#endif

// The call at which a fault strikes first.
int FirstCall(int fault) {
  return 1 + fault % kStride;
}

TEST(SpoolFaults, AtAnyCallARecordIsWholeOrCountedAndTheNextIsIntact) {
  const int calls = CallsOfStory();
  ASSERT_GT(calls, 40);
  int struck = 0;
  int first = 0;
  for (const auto& [name, fault] : EveryFault()) {
    for (int at = FirstCall(first++); at <= calls; at += kStride) {
      TempFolder folder;
      FaultyFiles files(at, fault);
      Told told;
      TellStory(folder, files, told);
      SCOPED_TRACE(std::string(name) + " at call " + std::to_string(at) + ", " + files.where());
      struck += files.struck() ? 1 : 0;
      EXPECT_LE(files.calls(), 5 * calls) << "it goes on and on";
      uint64_t dropped = 0;
      const Kept kept = fs::exists(folder.path() + "/spool/n1") ? ReadSpool(folder) : Kept{};
      for (int number = 1; number <= kStoryRecords; ++number) {
        const Append was = *told.record[static_cast<std::size_t>(number)];
        const auto found = kept.records.find(number);
        EXPECT_EQ(found == kept.records.end() ? 0 : found->second, was == Append::kWritten ? 1 : 0) << number;
        EXPECT_EQ(was == Append::kClosed, !told.opened);
        dropped += was == Append::kDropped ? 1 : 0;
      }
      if (told.opened) {
        EXPECT_EQ(told.record[kStoryRecords], Append::kWritten) << "it was mended before";
        EXPECT_EQ(Dropped(folder), dropped);
      }
      ExpectSoundSpool(folder);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(struck * kStride, 5 * calls);
}

TEST(SpoolFaults, AProcessOutOfDescriptorsCountsAtOnceWhatItLoses) {
  TempFolder folder;
  FaultyFiles none;
  Spool probe;
  ASSERT_EQ(probe.Open(ConfigOf(folder, none)), "");
  FaultyFiles files(none.calls() + 1, OutOfDescriptors(EMFILE));
  Spool spool;
  ASSERT_EQ(spool.Open(ConfigOf(folder, files)), "");
  EXPECT_EQ(WriteRecord(spool, 1), Append::kDropped);
  EXPECT_TRUE(files.struck());
  EXPECT_EQ(Dropped(folder), 1U);
}

TEST(SpoolFaults, CountsAfreshWhenTheCountersWereRemoved) {
  TempFolder folder;
  Spool spool;
  ASSERT_EQ(spool.Open(ConfigOf(folder, RealFiles())), "");
  ASSERT_TRUE(spool.CountDrop(Drop::kIo));
  fs::remove(folder.path() + "/spool/n1/dropped");
  ASSERT_TRUE(spool.CountDrop(Drop::kCap));
  EXPECT_EQ(Dropped(folder), 1U);
  fs::resize_file(folder.path() + "/spool/n1/dropped", 0);
  ASSERT_TRUE(spool.CountDrop(Drop::kCap));
  EXPECT_EQ(Dropped(folder), 1U);
}

TEST(NoteFaults, ANoteIsTheOldOneTheNewOneOrNoneAndNeverAMixture) {
  JobState old;
  old.restart = 0;
  old.enabled = false;
  JobState fresh;
  fresh.restart = 1;
  fresh.gpus = 8;
  for (const auto& [name, fault] : EveryFault()) {
    for (int at = 1;; ++at) {
      TempFolder folder;
      Spool good;
      ASSERT_EQ(good.Open(ConfigOf(folder, RealFiles())), "");
      ASSERT_TRUE(WriteJobState(good, kJob, old));
      FaultyFiles none;
      Spool probe;
      ASSERT_EQ(probe.Open(ConfigOf(folder, none)), "");
      FaultyFiles files(none.calls() + at, fault);
      Spool spool;
      ASSERT_EQ(spool.Open(ConfigOf(folder, files)), "");
      const bool said = WriteJobState(spool, kJob, fresh);
      if (!files.struck()) break;
      SCOPED_TRACE(std::string(name) + " at call " + files.where());
      const auto read = ReadJobState(good, kJob);
      if (said) {
        ASSERT_TRUE(read);
        EXPECT_EQ(read->gpus, 8);
      }
      if (read) {
        EXPECT_EQ(read->enabled, read->restart == 1);
      }
      if (read && !said) {
        EXPECT_TRUE(fault.lasting) << "where nothing can be removed the old one stays";
      }
    }
  }
}

// Runs `body` in a child process, with memory that both share.
class Child {
 public:
  struct Shared {
    Told told;
    bool waiting = false;
  };
  Child() {
    void* map = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) std::abort();
    shared_ = new (map) Shared;
  }
  ~Child() {
    Kill();
    munmap(shared_, sizeof(Shared));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  template <typename Body>
  void Run(Body body) {
    pid_ = fork();
    if (pid_ == 0) {
      body(*shared_);
      _exit(0);
    }
  }
  // Returns its wait status.
  int Wait() {
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  void Kill() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    Wait();
  }
  // Waits until the child hangs or has ended.
  bool IsWaiting() {
    while (!__atomic_load_n(&shared_->waiting, __ATOMIC_ACQUIRE)) {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return false;
      }
      usleep(200);
    }
    return true;
  }
  const Told& told() const { return shared_->told; }

 private:
  Shared* shared_;
  pid_t pid_ = -1;
};

// A record that a process knows as written occurs once; one with an unknown result occurs at most once.
void ExpectKeptOfTheDead(const Told& told, const TempFolder& folder) {
  if (!fs::exists(folder.path() + "/spool/n1")) return;
  const Kept kept = ReadSpool(folder);
  for (int number = 1; number <= kStoryRecords; ++number) {
    const auto& was = told.record[static_cast<std::size_t>(number)];
    const auto found = kept.records.find(number);
    const int times = found == kept.records.end() ? 0 : found->second;
    EXPECT_LE(times, 1);
    if (was) {
      EXPECT_EQ(times, *was == Append::kWritten ? 1 : 0);
    }
  }
}

TEST(SpoolFaults, AProcessThatDiesAtAnyCallLosesOnlyWhatItHadNotWritten) {
  const int calls = CallsOfStory();
  int first = 0;
  for (const int64_t moved : {-1, 0, 1, 40}) {
    for (int at = FirstCall(first++); at <= calls; at += kStride) {
      TempFolder folder;
      Child child;
      child.Run([&](Child::Shared& shared) {
        // With `moved`, the process dies at the call after a short write.
        Fault fault = Moves(moved);
        fault.lasting = true;
        fault.before = [left = moved < 0 ? 1 : 2]() mutable {
          if (--left == 0) raise(SIGKILL);
        };
        FaultyFiles files(at, fault);
        TellStory(folder, files, shared.told);
      });
      const int status = child.Wait();
      SCOPED_TRACE("call " + std::to_string(at) + ", moved " + std::to_string(moved));
      EXPECT_TRUE(WIFSIGNALED(status) || at >= calls - 12) << status;
      ExpectKeptOfTheDead(child.told(), folder);
      ExpectSoundSpool(folder);
      if (HasFailure()) return;
    }
  }
}

TEST(SpoolFaults, AProcessThatHangsAtAnyCallStopsNoOther) {
  const int calls = CallsOfStory();
  int hung = 0;
  for (int at = 1; at <= calls; ++at) {
    TempFolder folder;
    Child child;
    child.Run([&](Child::Shared& shared) {
      Fault fault;
      fault.before = [&] {
        __atomic_store_n(&shared.waiting, true, __ATOMIC_RELEASE);
        while (true) pause();
      };
      FaultyFiles files(at, fault);
      TellStory(folder, files, shared.told);
    });
    if (!child.IsWaiting()) continue;
    ++hung;
    SCOPED_TRACE("call " + std::to_string(at));
    Spool beside;
    ASSERT_EQ(beside.Open(ConfigOf(folder, RealFiles())), "");
    EXPECT_EQ(WriteRecord(beside, kBeside), Append::kWritten);
    ASSERT_TRUE(Ingest(folder).ok());
    child.Kill();
    ExpectKeptOfTheDead(child.told(), folder);
    ExpectSoundSpool(folder);
    if (HasFailure()) return;
  }
  EXPECT_GT(hung, calls - 12);
}

// --- ingest

class IngestFaults : public testing::Test {
 protected:
  // Two nodes, two hours, records, marks, a torn line.
  static void Fill(const TempFolder& folder) {
    for (const char* node : {"n1", "n2"}) {
      Spool::Config config = ConfigOf(folder, RealFiles());
      config.node = node;
      Spool spool;
      ASSERT_EQ(spool.Open(config), "");
      for (story_hour = 0; story_hour < 2; ++story_hour) {
        for (int step = 1; step <= 3; ++step) {
          RecordBuilder task(kind::kTaskStart, {step, 1, node, 1});
          task.Text(key::kCluster, "a3");
          task.Int(key::kJob, kJob);
          ASSERT_EQ(spool.Write(task.Finish()), Append::kWritten);
          ASSERT_EQ(spool.Write("\n{\"v\":1,\"t\":"), Append::kWritten);
          RecordBuilder mark(kind::kMark, {step, 1, node, 1});
          mark.Text(key::kCluster, "a3");
          mark.Int(key::kJob, kJob);
          mark.Text(key::kSlurmStep, "0");
          mark.Text(key::kMark, "step");
          mark.Text(key::kEdge, "begin");
          mark.Int(key::kTrainStep, step);
          ASSERT_EQ(spool.Write(mark.Finish()), Append::kWritten);
        }
      }
    }
  }
  // The database after ingesting this spool undisturbed.
  static std::string Reference(const TempFolder& folder) {
    absl::StatusOr<Database> db = Database::Open(folder.path() + "/reference", Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok() && IngestSpool(*db, folder.path() + "/spool", {}).ok());
    return Dump(*db);
  }
  static std::string Dumped(const TempFolder& folder) {
    absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok()) << db.status();
    return db.ok() ? Dump(*db) : std::string();
  }
  static int Calls() {
    TempFolder folder;
    Fill(folder);
    FaultyFiles files;
    EXPECT_TRUE(Ingest(folder, files).ok());
    return files.calls();
  }
};

TEST_F(IngestFaults, AtAnyCallAreSaidAndCostNothing) {
  const int calls = Calls();
  ASSERT_GT(calls, 20);
  int first = 0;
  for (const auto& [name, fault] : EveryFault()) {
    for (int at = FirstCall(first++); at <= calls; at += kStride) {
      TempFolder folder;
      Fill(folder);
      const std::string wanted = Reference(folder);
      FaultyFiles files(at, fault);
      const absl::StatusOr<IngestReport> report = Ingest(folder, files);
      SCOPED_TRACE(std::string(name) + " at call " + std::to_string(at) + ", " + files.where());
      EXPECT_LE(files.calls(), 5 * calls);
      const bool said = !report.ok() || !report->problems.empty();
      const bool no_matter = files.where() == "close" || files.where() == "closedir" || fault.error == 0;
      if (files.struck() && !said && !no_matter) {
        EXPECT_EQ(Dumped(folder), wanted) << "silently left out";
      }
      ASSERT_TRUE(Ingest(folder).ok());
      ASSERT_EQ(Dumped(folder), wanted);
    }
  }
}

TEST_F(IngestFaults, KilledAtAnyCallNothingIsTakenTwice) {
  const int calls = Calls();
  for (int at = 1; at <= calls; at += kStride) {
    TempFolder folder;
    Fill(folder);
    const std::string wanted = Reference(folder);
    Child child;
    child.Run([&](Child::Shared&) {
      Fault fault;
      fault.before = [] { raise(SIGKILL); };
      FaultyFiles files(at, fault);
      Ingest(folder, files).IgnoreError();
    });
    ASSERT_TRUE(WIFSIGNALED(child.Wait()));
    ASSERT_TRUE(Ingest(folder).ok());
    ASSERT_EQ(Dumped(folder), wanted) << "call " << at;
  }
}

// This also covers a disk that hangs: a process that waits for it holds no lock that another one needs.
TEST_F(IngestFaults, WhileOneReadsAnotherMayTakeEverything) {
  const int calls = Calls();
  for (int at = 1; at <= calls; at += kStride) {
    TempFolder folder;
    Fill(folder);
    const std::string wanted = Reference(folder);
    Fault fault;
    fault.before = [&] {
      const auto other = Ingest(folder);
      EXPECT_TRUE(other.ok()) << other.status();
    };
    FaultyFiles files(at, fault);
    const auto report = Ingest(folder, files);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->problems.empty());
    ASSERT_EQ(Dumped(folder), wanted) << "call " << at << ", " << files.where();
  }
}

// Another process may ingest the file before the first continues, which must not report that the file shrank.
TEST_F(IngestFaults, WhileOneReadsANodeMayWrite) {
  const int calls = Calls();
  for (int at = 1; at <= calls; at += kStride) {
    TempFolder folder;
    Fill(folder);
    Fault fault;
    fault.before = [&] {
      story_hour = at % 3;  // an existing file, or a new one
      Spool spool;
      ASSERT_EQ(spool.Open(ConfigOf(folder, RealFiles())), "");
      ASSERT_EQ(WriteRecord(spool, kBeside), Append::kWritten);
      if (at % 2 == 0) {
        ASSERT_TRUE(Ingest(folder).ok());
      }
    };
    FaultyFiles files(at, fault);
    const auto report = Ingest(folder, files);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->problems.empty())
        << "call " << at << ", " << files.where() << ": " << report->problems[0];
    ASSERT_TRUE(Ingest(folder).ok());
    ASSERT_EQ(Dumped(folder), Reference(folder)) << "call " << at << ", " << files.where();
  }
}

}  // namespace
}  // namespace goodput
