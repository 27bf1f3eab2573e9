#include "spank/spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/guard.h"
#include "tests/spank/json_check.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

int64_t fake_now_ns = 0;
constexpr Clock kFakeClock = {[]() noexcept { return fake_now_ns; }, []() noexcept { return int64_t{1}; }};

std::string Record(uint64_t job, std::size_t padding = 0) {
  RecordBuilder builder(kind::kTaskStart, {1, 2, "n1", static_cast<int>(getpid())});
  builder.Uint(key::kJob, job);
  if (padding > 0) builder.Text(key::kName, std::string(padding, 'x'), Worth::kFreeText);
  return std::string(builder.Finish());
}

std::vector<std::string> Lines(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    fake_now_ns = 1'767'225'600'000'000'000;  // 2026-01-01T00:00:00Z
    config_.root = folder_.path() + "/spool";
    config_.node = "n1";
    config_.owner = geteuid();
    config_.boot_id = "boot";
    config_.clock = kFakeClock;
  }
  fs::path Node() const { return fs::path(config_.root) / "n1"; }
  fs::path File() const { return Node() / spool_.FileName(); }

  TempFolder folder_;
  Spool::Config config_;
  Spool spool_;
};

TEST_F(SpoolTest, MakesItsFoldersAndAppendsWholeRecords) {
  ASSERT_EQ(spool_.Open(config_), "");
  EXPECT_EQ(spool_.Write(Record(1)), Append::kWritten);
  EXPECT_EQ(spool_.Write(Record(2)), Append::kWritten);
  EXPECT_EQ(Lines(File()).size(), 2U);
  for (const fs::path& folder : {fs::path(config_.root), Node()}) {
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(fs::status(File()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SpoolTest, NamesFilesByBootAndHour) {
  ASSERT_EQ(spool_.Open(config_), "");
  EXPECT_EQ(spool_.FileName(), "boot.2026010100Z.jsonl");
  fake_now_ns += 3599LL * 1'000'000'000;
  EXPECT_EQ(spool_.FileName(), "boot.2026010100Z.jsonl");
  fake_now_ns += 1LL * 1'000'000'000;
  EXPECT_EQ(spool_.FileName(), "boot.2026010101Z.jsonl");
  fake_now_ns = 1'709'251'199'000'000'000;
  EXPECT_EQ(spool_.FileName(), "boot.2024022923Z.jsonl") << "a leap day";
  fake_now_ns += 1'000'000'000;
  EXPECT_EQ(spool_.FileName(), "boot.2024030100Z.jsonl");
}

TEST_F(SpoolTest, FilesWithALabelAreApart) {
  config_.label = "log";
  ASSERT_EQ(spool_.Open(config_), "");
  EXPECT_EQ(spool_.FileName(), "boot.2026010100Z.log.jsonl");
  EXPECT_EQ(spool_.Write(Record(1)), Append::kWritten);
  EXPECT_TRUE(fs::exists(Node() / "boot.2026010100Z.log.jsonl"));
}

TEST_F(SpoolTest, WritesToNoFifo) {
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  const int reader = open(File().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(spool_.Write(Record(1)), Append::kDropped);
  EXPECT_EQ(spool_.Drops()[static_cast<int>(Drop::kIo)], 1U);
  char byte = 0;
  EXPECT_LE(read(reader, &byte, 1), 0);
  close(reader);
}

TEST_F(SpoolTest, ANoteThatWasCutOffIsNone) {
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_TRUE(spool_.PutNote("job.7", "enabled=1"));
  std::array<char, 64> buffer{};
  EXPECT_EQ(spool_.GetNote("job.7", buffer.data(), buffer.size()), "enabled=1");
  fs::resize_file(Node() / "job.7", 5);
  EXPECT_EQ(spool_.GetNote("job.7", buffer.data(), buffer.size()), "");
}

TEST_F(SpoolTest, TakesTheKernelsBootIdWhenNoneIsGiven) {
  config_.boot_id.clear();
  ASSERT_EQ(spool_.Open(config_), "");
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  EXPECT_EQ(spool_.FileName(), boot + ".2026010100Z.jsonl");
}

TEST_F(SpoolTest, RefusesASymbolicLink) {
  fs::create_directory(folder_.path() + "/elsewhere");
  fs::create_symlink(folder_.path() + "/elsewhere", config_.root);
  EXPECT_NE(spool_.Open(config_).find("symbolic link"), std::string::npos);
  fs::remove(config_.root);
  fs::create_directory(config_.root);
  fs::create_symlink(folder_.path() + "/elsewhere", Node());
  EXPECT_NE(spool_.Open(config_).find("symbolic link"), std::string::npos);
  EXPECT_FALSE(spool_.is_open());
  EXPECT_EQ(spool_.Write(Record(1)), Append::kClosed);
}

TEST_F(SpoolTest, DoesNotFollowASymbolicLinkPutInPlaceOfAFile) {
  ASSERT_EQ(spool_.Open(config_), "");
  fs::create_symlink(folder_.path() + "/target", File());
  EXPECT_EQ(spool_.Write(Record(1)), Append::kDropped);
  EXPECT_FALSE(fs::exists(folder_.path() + "/target"));
}

TEST_F(SpoolTest, RefusesWhatIsNotAFolderOrHasNoParent) {
  std::ofstream(config_.root) << "x";
  EXPECT_NE(spool_.Open(config_).find("not a folder"), std::string::npos);
  config_.root = folder_.path() + "/a/b";
  EXPECT_NE(spool_.Open(config_).find("cannot create it"), std::string::npos);
}

TEST_F(SpoolTest, RefusesAFolderOthersOwnOrMayWriteTo) {
  config_.owner = geteuid() + 1;
  EXPECT_NE(spool_.Open(config_).find("can write"), std::string::npos);
  config_.owner = geteuid();
  fs::permissions(config_.root, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(spool_.Open(config_).find("can write"), std::string::npos);
}

TEST_F(SpoolTest, RefusesANetworkFileSystemInOneLine) {
  config_.is_remote = [](int64_t) noexcept { return true; };
  const std::string complaint = spool_.Open(config_);
  EXPECT_NE(complaint.find("network or FUSE"), std::string::npos);
  EXPECT_EQ(complaint.find('\n'), std::string::npos);
  EXPECT_TRUE(IsRemoteFileSystem(0x6969)) << "NFS";
  EXPECT_TRUE(IsRemoteFileSystem(0x65735546)) << "FUSE";
  EXPECT_TRUE(IsRemoteFileSystem(static_cast<int32_t>(0xFF534D42))) << "CIFS, sign-extended";
  EXPECT_FALSE(IsRemoteFileSystem(0xEF53)) << "ext4";
  EXPECT_FALSE(IsRemoteFileSystem(0x58465342)) << "XFS";
  EXPECT_FALSE(IsRemoteFileSystem(0x01021994)) << "tmpfs";
}

TEST_F(SpoolTest, RefusesANodeNameThatIsAPath) {
  for (const char* name : {"", ".", "..", "a/b", "disabled", "n 1", "@other", ".hidden"}) {
    config_.node = name;
    EXPECT_NE(spool_.Open(config_), "") << name;
    EXPECT_FALSE(spool_.is_open());
  }
  config_.node = "@controller";
  EXPECT_EQ(spool_.Open(config_), "");
}

TEST_F(SpoolTest, TheKillSwitchWorksInEitherFolderAndAtAnyTime) {
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_TRUE(spool_.enabled());
  for (const fs::path& folder : {fs::path(config_.root), Node()}) {
    std::ofstream(folder / "disabled") << "";
    EXPECT_FALSE(spool_.enabled());
    EXPECT_EQ(spool_.Write(Record(1)), Append::kDisabled);
    fs::remove(folder / "disabled");
    EXPECT_EQ(spool_.Write(Record(1)), Append::kWritten);
  }
  std::ofstream(fs::path(config_.root) / "disabled") << "";
  EXPECT_EQ(spool_.Open(config_), "") << "switched off is not an error";
  EXPECT_FALSE(spool_.is_open());
}

TEST_F(SpoolTest, HoldsNoMoreThanItsCapAndCountsWhatItDrops) {
  config_.max_bytes = 3000;
  ASSERT_EQ(spool_.Open(config_), "");
  EXPECT_EQ(spool_.Write(Record(1, 2900)), Append::kWritten);
  EXPECT_EQ(spool_.Write(Record(2, 2900)), Append::kWritten) << "the one that crosses the line";
  EXPECT_EQ(spool_.Write(Record(3)), Append::kDropped);
  fake_now_ns += 3600LL * 1'000'000'000;
  EXPECT_EQ(spool_.Write(Record(4)), Append::kDropped) << "a new hour brings no new room";
  EXPECT_FALSE(fs::exists(File()));
  EXPECT_EQ(spool_.Drops()[static_cast<int>(Drop::kCap)], 2U);
  fs::remove(Node() / "boot.2026010100Z.jsonl");
  EXPECT_EQ(spool_.Write(Record(5)), Append::kWritten);
}

TEST_F(SpoolTest, CountsDropsOfManyProcessesWithoutLosingOne) {
  ASSERT_EQ(spool_.Open(config_), "");
  EXPECT_EQ(spool_.Drops(), DropCounts{});
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0; n < 500; ++n) spool_.CountDrop(Drop::kIo);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_EQ(spool_.Drops()[static_cast<int>(Drop::kIo)], 4000U);
}

TEST_F(SpoolTest, CountsARecordAFileSizeLimitCutShort) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);
    const rlimit limit = {100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    bool right = false;
    // As every hook of the plugin runs: without the guard, the limit's signal would kill slurmstepd.
    RunGuarded([&] {
      right = spool_.Open(config_).empty() && spool_.Write(Record(1, 50)) == Append::kDropped &&
              spool_.Write(Record(2)) == Append::kDropped &&
              spool_.Drops()[static_cast<int>(Drop::kNoSpace)] == 2;
    });
    struct sigaction after {};
    sigaction(SIGXFSZ, nullptr, &after);
    _exit(right && after.sa_handler == SIG_DFL ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  // The record after the torn one is complete.
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_EQ(spool_.Write(Record(3)), Append::kWritten);
  const auto lines = Lines(File());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_FALSE(json_check::Parse(lines[0]));
  EXPECT_TRUE(json_check::Parse(lines[1]));
}

class MountedSpoolTest : public SpoolTest {
 protected:
  void Mount(unsigned long flags, const char* options) {
    if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    fs::create_directory(config_.root);
    if (mount("none", config_.root.c_str(), "tmpfs", flags, options) != 0)
      GTEST_SKIP() << "may not mount here";
    mounted_ = true;
  }
  ~MountedSpoolTest() override {
    spool_.Close();
    if (mounted_) umount2(config_.root.c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

TEST_F(MountedSpoolTest, AFullDiskLosesRecordsAndCountsThem) {
  Mount(0, "size=64k,mode=0700");
  if (IsSkipped()) return;
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_EQ(spool_.Write(Record(1)), Append::kWritten);
  std::ofstream(config_.root + "/ballast") << std::string(256 << 10, 'x');
  int dropped = 0;
  for (int i = 0; i < 50; ++i) dropped += spool_.Write(Record(1, 1000)) == Append::kDropped ? 1 : 0;
  EXPECT_GT(dropped, 40);
  EXPECT_EQ(spool_.Drops()[static_cast<int>(Drop::kNoSpace)], static_cast<uint64_t>(dropped));
  fs::remove(config_.root + "/ballast");
  EXPECT_EQ(spool_.Write(Record(2)), Append::kWritten);
}

// On a disk of 4 MiB that is full but for the reserve.
TEST_F(MountedSpoolTest, AFullDiskHasAReserveForThePluginAlone) {
  Mount(0, "size=4m,mode=0700");
  if (IsSkipped()) return;
  ASSERT_EQ(spool_.Open(config_), "");
  ASSERT_EQ(spool_.Write(Record(1)), Append::kWritten);
  EXPECT_TRUE(spool_.KeepReserve());
  const std::string reserve = config_.root + "/" + config_.node + "/" + kReserveName;
  EXPECT_EQ(fs::file_size(reserve), static_cast<uintmax_t>(kReserveBytes));
  const auto fill = [&] {
    std::ofstream(config_.root + "/ballast", std::ios::app) << std::string(4 << 20, 'x');
  };
  fill();

  Spool::Config daemons = config_;
  daemons.takes_reserve = false;
  Spool daemon;
  ASSERT_EQ(daemon.Open(daemons), "");
  int refused = 0;
  for (int i = 0; i < 8; ++i) refused += daemon.Write(Record(1, 1000)) == Append::kDropped ? 1 : 0;
  EXPECT_GT(refused, 0) << "goodputd takes none of it";
  EXPECT_EQ(fs::file_size(reserve), static_cast<uintmax_t>(kReserveBytes));

  constexpr int kPieces = static_cast<int>(kReserveBytes / kReservePiece);
  for (int i = 0; i < kPieces; ++i) {
    EXPECT_EQ(spool_.Write(Record(1, 3000)), Append::kWritten) << i;
    EXPECT_TRUE(spool_.PutNote("job.7", std::string(400, 'x'))) << i;
    fill();
  }
  EXPECT_EQ(fs::file_size(reserve), 0U);
  int dropped = 0;
  for (int i = 0; i < 4; ++i) dropped += spool_.Write(Record(1, 3000)) == Append::kDropped ? 1 : 0;
  EXPECT_GT(dropped, 0) << "it is used up";
  EXPECT_FALSE(spool_.KeepReserve()) << "no room";
  EXPECT_EQ(fs::file_size(reserve), 0U);
  fs::remove(config_.root + "/ballast");
  EXPECT_TRUE(spool_.KeepReserve());
  EXPECT_EQ(fs::file_size(reserve), static_cast<uintmax_t>(kReserveBytes));
}

TEST_F(MountedSpoolTest, AReadOnlyDiskIsNoCrash) {
  Mount(MS_RDONLY, "mode=0700");
  if (IsSkipped()) return;
  EXPECT_NE(spool_.Open(config_).find("Read-only"), std::string::npos);
}

TEST_F(SpoolTest, ProcessesAppendingAtOnceNeverTearARecord) {
  ASSERT_EQ(spool_.Open(config_), "");
  constexpr int kWriters = 16;
  constexpr int kRecords = 200;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int n = 0; n < kRecords; ++n) {
        const auto job = static_cast<uint64_t>(writer) * kRecords + static_cast<uint64_t>(n);
        good = spool_.Write(Record(job, job * 37 % 3500)) == Append::kWritten && good;
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> jobs;
  for (const std::string& line : Lines(File())) {
    const auto record = json_check::Parse(line);
    ASSERT_TRUE(record) << line;
    jobs.insert(record->at("job").text);
  }
  EXPECT_EQ(jobs.size(), static_cast<std::size_t>(kWriters * kRecords));
}

TEST_F(SpoolTest, LeavesNoDescriptorBehindForAJob) {
  ASSERT_EQ(spool_.Open(config_), "");
  spool_.Write(Record(1));
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.find(folder_.path()) == 0) {
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
      EXPECT_EQ(target.find(".jsonl"), std::string::npos) << "a record's file stays open";
    }
  }
}

TEST_F(SpoolTest, CostsLittle) {
  ASSERT_EQ(spool_.Open(config_), "");
  constexpr int kRounds = 5000;
  const int64_t begin = kSystemClock.mono_ns();
  for (int i = 0; i < kRounds; ++i) spool_.Write(Record(static_cast<uint64_t>(i)));
  std::printf("spool: %.2f us a record\n",
              static_cast<double>(kSystemClock.mono_ns() - begin) / 1e3 / kRounds);
}

}  // namespace
}  // namespace goodput
