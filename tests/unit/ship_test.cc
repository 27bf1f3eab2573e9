// A node's records in the shared folder are byte-for-byte copies, whatever goes wrong during copying.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "spank/spool.h"
#include "tests/spank/faulty_files.h"
#include "tests/spank/temp_folder.h"
#include "tools/sources/shared_spool/ship_helper.h"
#include "tools/sources/shared_spool/shipper.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;
using Fault = FaultyFiles::Fault;

const int in_memory = access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 0) : 0;

constexpr const char* kOld = "boot.2026010100Z.jsonl";
constexpr const char* kNew = "boot.2026010101Z.jsonl";
constexpr std::int64_t kNowS = 1'767'229'200;  // 2026-01-01 01:00 UTC
std::int64_t mono_ns = 0;
constexpr Clock kStill = {[]() noexcept { return kNowS * 1'000'000'000; }, []() noexcept { return mono_ns; }};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ShipTest : public testing::Test {
 protected:
  ShipTest() {
    mono_ns = 0;
    fs::create_directories(Local(""));
    fs::create_directories(folder_.path() + "/shared");
    chmod((folder_.path() + "/shared").c_str(), 0700);
  }
  std::string Local(const std::string& file) const { return folder_.path() + "/spool/n1/" + file; }
  std::string Shared(const std::string& file) const { return folder_.path() + "/shared/n1/" + file; }
  void Append(const std::string& file, const std::string& text) const {
    std::ofstream(Local(file), std::ios::app | std::ios::binary) << text;
  }
  Shipper::Options Options(Files& files = RealFiles()) const {
    Shipper::Options options;
    options.spool_root = folder_.path() + "/spool";
    options.owner = geteuid();
    options.boot_id = "boot";
    options.clock = kStill;
    options.files = &files;
    return options;
  }
  // One pass of a new process.
  ShipReport Pass(Files& local = RealFiles(), Files& remote = RealFiles()) const {
    DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), remote);
    Shipper shipper(Options(local), shared);
    return shipper.Pass([] { return false; });
  }
  void ExpectCopied() const {
    for (const auto& entry : fs::directory_iterator(Local(""))) {
      const std::string name = entry.path().filename();
      if (entry.path().extension() != ".jsonl") continue;
      EXPECT_EQ(ReadFile(Shared(name)), ReadFile(Local(name))) << name;
    }
  }

  TempFolder folder_;
};

const std::string kLarge(3 * kMaxPieceBytes + 100, 'x');

TEST_F(ShipTest, ACopyIsTheSameBytesAndOnlyForItsOwner) {
  Append(kOld, "\n{1}\n");
  Append(kNew, kLarge);
  const ShipReport report = Pass();
  EXPECT_TRUE(report.whole);
  EXPECT_EQ(report.bytes, static_cast<std::int64_t>(kLarge.size()) + 5);
  ExpectCopied();
  struct stat info {};
  ASSERT_EQ(stat(Shared(kOld).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_EQ(stat(Shared("").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

TEST_F(ShipTest, CopyingGoesOnWhereTheCopyEndsWhoeverWroteIt) {
  Append(kOld, "\n{1}\n");
  {
    DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
    Shipper shipper(Options(), shared);
    EXPECT_EQ(shipper.Pass([] { return false; }).bytes, 5);
    Append(kOld, "\n{22}\n");
    EXPECT_EQ(shipper.Pass([] { return false; }).bytes, 6);
    EXPECT_EQ(shipper.Pass([] { return false; }).bytes, 0);
  }
  // The copy was truncated by a server that lost unwritten data; the next process notices.
  fs::resize_file(Shared(kOld), 7);
  EXPECT_EQ(Pass().bytes, 4);
  ExpectCopied();
}

TEST_F(ShipTest, ACopyThatShrankUnderARunningDaemonIsMadeWholeWhenItsFileGrows) {
  Append(kOld, "\n{1}\n");
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(Options(), shared);
  shipper.Pass([] { return false; });
  fs::resize_file(Shared(kOld), 2);
  Append(kOld, "\n{22}\n");
  EXPECT_FALSE(shipper.Pass([] { return false; }).whole);
  EXPECT_TRUE(shipper.Pass([] { return false; }).whole);
  ExpectCopied();
}

TEST_F(ShipTest, ACopyThatDiffersIsLeftAndSaidOnceAndTheOthersGoOn) {
  Append(kOld, "\n{1}\n\n{2}\n");
  Append(kNew, "\n{3}\n");
  fs::create_directories(Shared(""));
  chmod(Shared("").c_str(), 0700);
  std::ofstream(Shared(kOld)) << "\n{7}\n";
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(Options(), shared);
  const ShipReport first = shipper.Pass([] { return false; });
  ASSERT_EQ(first.problems.size(), 1U);
  EXPECT_NE(first.problems[0].find("differs"), std::string::npos) << first.problems[0];
  EXPECT_NE(first.problems[0].find(kOld), std::string::npos) << first.problems[0];
  EXPECT_TRUE(shipper.Pass([] { return false; }).problems.empty());
  EXPECT_EQ(ReadFile(Shared(kOld)), "\n{7}\n");
  EXPECT_EQ(ReadFile(Shared(kNew)), ReadFile(Local(kNew)));
  EXPECT_EQ(ReadFile(Shared(kCountsName)), "not_copied_files=1\n");
  // After the copy is moved away, the file is copied again within the hour, and no longer counted.
  fs::remove(Shared(kOld));
  mono_ns += (kLookAgainS + 1) * 1'000'000'000;
  shipper.Pass([] { return false; });
  ExpectCopied();
  EXPECT_EQ(ReadFile(Shared(kCountsName)), "\n");
}

TEST_F(ShipTest, ACopyLongerThanItsOriginalIsLeftAsItIs) {
  Append(kOld, "\n{1}\n");
  Pass();
  std::ofstream(Shared(kOld), std::ios::app) << "\n{2}\n";
  const ShipReport report = Pass();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("longer"), std::string::npos) << report.problems[0];
  EXPECT_EQ(ReadFile(Shared(kOld)), "\n{1}\n\n{2}\n");
}

// A daemon that was presumed dead writes once more, after its successor's pass has begun.
class LateWriter final : public SharedFolder {
 public:
  LateWriter(SharedFolder& folder, std::function<void()> late) : folder_(folder), late_(std::move(late)) {}
  absl::StatusOr<SharedFile> Look(const std::string& folder, const std::string& file, bool settled) override {
    if (late_) late_();
    return folder_.Look(folder, file, settled);
  }
  absl::StatusOr<SharedFile> Append(const std::string& folder, const std::string& file, std::int64_t offset,
                                    std::string_view bytes) override {
    return folder_.Append(folder, file, offset, bytes);
  }
  absl::StatusOr<SharedFile> Replace(const std::string& folder, const std::string& file,
                                     std::string_view bytes) override {
    return folder_.Replace(folder, file, bytes);
  }

 private:
  SharedFolder& folder_;
  std::function<void()> late_;
};

TEST_F(ShipTest, WhatALateWriterCopiedMeanwhileIsNoCopyTooLong) {
  Append(kOld, "\n{1}\n");
  Pass();
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  bool written = false;
  LateWriter late(shared, [&] {
    if (std::exchange(written, true)) return;
    Append(kOld, "\n{2}\n");
    std::ofstream(Shared(kOld), std::ios::app) << "\n{2}\n";
  });
  Shipper shipper(Options(), late);
  EXPECT_TRUE(shipper.Pass([] { return false; }).problems.empty());
  Append(kOld, "\n{3}\n");
  shipper.Pass([] { return false; });
  ExpectCopied();
}

TEST_F(ShipTest, OnlyOneDaemonOfANodeCopies) {
  Append(kOld, "\n{1}\n");
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  {
    Shipper first(Options(), shared);
    first.Pass([] { return false; });
    Append(kOld, "\n{2}\n");
    const ShipReport report = Pass();
    EXPECT_EQ(report.bytes, 0);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find("another goodputd"), std::string::npos);
  }
  EXPECT_EQ(Pass().bytes, 5);
  ExpectCopied();
}

TEST_F(ShipTest, TheSpoolItselfIsNoSharedFolder) {
  Append(kOld, "\n{1}\n");
  const std::array<timespec, 2> long_ago{{{0, 0}, {0, 0}}};
  ASSERT_EQ(utimensat(AT_FDCWD, Local(kOld).c_str(), long_ago.data(), 0), 0);
  chmod((folder_.path() + "/spool").c_str(), 0700);
  chmod(Local("").c_str(), 0700);
  Shipper::Options options = Options();
  options.keep_s = kLeastKeptS;
  DirectSharedFolder shared(folder_.path() + "/spool", geteuid(), RealFiles());
  Shipper shipper(options, shared);
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_TRUE(absl::IsFailedPrecondition(shipper.Pass([] { return false; }).shared));
  }
  EXPECT_EQ(ReadFile(Local(kOld)), "\n{1}\n");
}

TEST_F(ShipTest, ALinkOrAFolderOfAnotherIsNoPlaceToWrite) {
  Append(kOld, "\n{1}\n");
  fs::create_directory(folder_.path() + "/elsewhere");
  fs::create_directory_symlink(folder_.path() + "/elsewhere", folder_.path() + "/shared/n1");
  EXPECT_FALSE(Pass().shared.ok());
  EXPECT_TRUE(fs::is_empty(folder_.path() + "/elsewhere"));
  fs::remove(folder_.path() + "/shared/n1");
  fs::create_directory(folder_.path() + "/shared/n1");
  chmod((folder_.path() + "/shared/n1").c_str(), 0777);
  EXPECT_TRUE(absl::IsPermissionDenied(Pass().shared));
  chmod((folder_.path() + "/shared/n1").c_str(), 0700);
  fs::create_symlink(folder_.path() + "/elsewhere/file", Shared(kOld));
  Append(kNew, "\n{2}\n");
  const ShipReport report = Pass();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("n1/" + std::string(kOld)), std::string::npos) << report.problems[0];
  EXPECT_TRUE(fs::is_empty(folder_.path() + "/elsewhere"));
  EXPECT_EQ(ReadFile(Shared(kNew)), "\n{2}\n") << "one bad file stops no other";
}

TEST_F(ShipTest, ASharedFolderThatIsNotThereIsNeverMade) {
  Append(kOld, "\n{1}\n");
  fs::remove(folder_.path() + "/shared");
  const ShipReport report = Pass();
  EXPECT_FALSE(report.whole);
  EXPECT_NE(std::string(report.shared.message()).find("mount it"), std::string::npos) << report.shared;
  EXPECT_FALSE(fs::exists(folder_.path() + "/shared"));
}

TEST_F(ShipTest, WhenAnotherFolderIsMountedThereEverythingIsLookedAtAgain) {
  Append(kOld, "\n{1}\n");
  Append(kNew, "\n{1}\n");
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(Options(), shared);
  shipper.Pass([] { return false; });
  fs::rename(folder_.path() + "/shared", folder_.path() + "/unmounted");
  fs::create_directory(folder_.path() + "/shared");
  chmod((folder_.path() + "/shared").c_str(), 0700);
  Append(kNew, "\n{2}\n");
  for (int pass = 0; pass < 3; ++pass) shipper.Pass([] { return false; });
  ExpectCopied();
}

TEST_F(ShipTest, ThatAnotherFolderIsMountedThereIsNoticedByTheHeartbeatAlone) {
  Append(kOld, "\n{1}\n");
  std::ofstream(Local("heartbeat")) << "{1}\n";
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(Options(), shared);
  shipper.Pass([] { return false; });
  fs::rename(folder_.path() + "/shared", folder_.path() + "/unmounted");
  fs::create_directory(folder_.path() + "/shared");
  chmod((folder_.path() + "/shared").c_str(), 0700);
  std::ofstream(Local("heartbeat")) << "{2}\n";
  for (int pass = 0; pass < 2; ++pass) shipper.Pass([] { return false; });
  ExpectCopied();
}

TEST_F(ShipTest, TheHeartbeatIsCopiedWholeAndSoIsWhatWasLost) {
  std::ofstream(Local("heartbeat")) << "{\"v\":1}\n";
  DropCounts drops{3, 2, 0, 0, 0, 0, 0, 0};
  std::ofstream(Local("dropped"), std::ios::binary)
      .write(reinterpret_cast<const char*>(&drops), sizeof(drops));
  std::ofstream(folder_.path() + "/spool/marks") << "accepted=7 malformed=0 not_owner=5\n";
  Pass();
  EXPECT_EQ(ReadFile(folder_.path() + "/shared/@heartbeat/n1"), "{\"v\":1}\n");
  EXPECT_EQ(ReadFile(Shared(kCountsName)), "no_space=3 spool_max=2 marks.not_owner=5\n");
}

TEST_F(ShipTest, WhatWasCopiedLongAgoIsRemovedHereButNeverTheFileInUse) {
  Append(kOld, "\n{1}\n");
  Append(kNew, "\n{2}\n");
  Shipper::Options options = Options();
  options.keep_s = kLeastKeptS;
  for (const char* file : {kOld, kNew}) {
    const std::array<timespec, 2> times{{{kNowS - kLeastKeptS - 10, 0}, {kNowS - kLeastKeptS - 10, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, Local(file).c_str(), times.data(), 0), 0);
  }
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(options, shared);
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0) << "it has only just been copied";
  // Not before it is copied again.
  fs::remove(Shared(kOld));
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0);
  EXPECT_EQ(shipper.Pass([] { return false; }).bytes, 5);
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 1);
  EXPECT_FALSE(fs::exists(Local(kOld)));
  EXPECT_EQ(ReadFile(Shared(kOld)), "\n{1}\n");
  EXPECT_TRUE(fs::exists(Local(kNew)));
}

TEST_F(ShipTest, NothingIsRemovedWhoseWritersMayNotBeDone) {
  Append(kOld, "\n{1}\n");
  const std::array<timespec, 2> times{{{kNowS - 10, 0}, {kNowS - 10, 0}}};
  ASSERT_EQ(utimensat(AT_FDCWD, Local(kOld).c_str(), times.data(), 0), 0);
  Shipper::Options options = Options();
  options.keep_s = 1;
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(options, shared);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0);
}

// Removes the old file only after a last look at it and at its copy.
TEST_F(ShipTest, NothingIsRemovedThatChangedOrWhoseCopyDid) {
  Append(kOld, "\n{1}\n");
  const auto make_old = [&] {
    const std::array<timespec, 2> times{{{kNowS - kLeastKeptS - 10, 0}, {kNowS - kLeastKeptS - 10, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, Local(kOld).c_str(), times.data(), 0), 0);
  };
  make_old();
  Shipper::Options options = Options();
  options.keep_s = kLeastKeptS;
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  bool rewrites = false;
  LateWriter late(shared, [&] {
    if (rewrites) std::ofstream(Local(kOld), std::ios::in | std::ios::out) << "\n{1}";
  });
  Shipper shipper(options, late);
  shipper.Pass([] { return false; });
  rewrites = true;
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0) << "it was written a moment ago";
  rewrites = false;
  make_old();
  shipper.Pass([] { return false; });
  std::ofstream(Shared(kOld), std::ios::in | std::ios::out) << "\n{7}";
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0) << "its copy is damaged";
  EXPECT_TRUE(fs::exists(Local(kOld)));
}

TEST_F(ShipTest, AFolderOfAnotherUserIsNotCopied) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Append(kOld, "\n{1}\n");
  ASSERT_EQ(chown(Local("").c_str(), 12345, 12345), 0);
  const ShipReport report = Pass();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("owned by uid 12345"), std::string::npos) << report.problems[0];
  EXPECT_FALSE(fs::exists(Shared(kOld)));
}

TEST_F(ShipTest, WhatTheHostLostIsCountedWithOneOfItsNodes) {
  Append(kOld, "\n{1}\n");
  fs::create_directories(folder_.path() + "/spool/n2");
  std::ofstream(folder_.path() + "/spool/n2/" + kOld) << "\n{2}\n";
  std::ofstream(folder_.path() + "/spool/marks") << "not_owner=5\n";
  Pass();
  EXPECT_EQ(ReadFile(Shared(kCountsName)), "marks.not_owner=5\n");
  EXPECT_EQ(ReadFile(folder_.path() + "/shared/n2/" + kCountsName), "\n");
}

TEST_F(ShipTest, AFullFolderGivesUpCopiedFilesHoweverNewOldestFirst) {
  const std::vector<std::string> files = {"b.2026010100Z.jsonl", "b.2026010101Z.jsonl",
                                          "b.2026010102Z.jsonl"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    Append(files[i].c_str(), "\n{12345678}\n");
    const std::array<timespec, 2> times{
        {{kNowS - 30 + static_cast<std::int64_t>(i), 0}, {kNowS - 30 + static_cast<std::int64_t>(i), 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, Local(files[i].c_str()).c_str(), times.data(), 0), 0);
  }
  Shipper::Options options = Options();
  options.most_bytes = 30;
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(options, shared);
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0) << "nothing before it is copied";
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 1);
  EXPECT_FALSE(fs::exists(Local(files[0].c_str())));
  EXPECT_TRUE(fs::exists(Local(files[1].c_str())));
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0) << "there is room again";
  EXPECT_EQ(ReadFile(Shared(files[0].c_str())), "\n{12345678}\n");
}

TEST_F(ShipTest, NothingIsRemovedThatAJobWhichStillRunsBeganIn) {
  Append(kOld, "\n{1}\n");
  std::ofstream(Local("job.7")) << "goodput=on\n";
  const auto write_long_ago = [&](const char* name, std::int64_t s) {
    const std::array<timespec, 2> times{{{s, 0}, {s, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, Local(name).c_str(), times.data(), 0), 0);
  };
  write_long_ago("job.7", kNowS - kLeastKeptS - 20);
  write_long_ago(kOld, kNowS - kLeastKeptS - 10);
  Shipper::Options options = Options();
  options.keep_s = kLeastKeptS;
  DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), RealFiles());
  Shipper shipper(options, shared);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(shipper.Pass([] { return false; }).removed, 0);
  fs::remove(Local("job.7"));
  EXPECT_EQ(shipper.Pass([] { return false; }).removed, 1);
}

TEST_F(ShipTest, ThroughAHelperItIsTheSame) {
  Append(kOld, std::string("\n{\0}\n", 6));
  Append(kNew, kLarge);
  std::ofstream(Local("heartbeat")) << "{}\n";
  AbandonedHelpers abandoned(1);
  HelperProcess::Options helper;
  helper.name = kShipHelper;
  helper.arguments = {folder_.path() + "/shared"};
  helper.abandoned = &abandoned;
  helper.timeout = absl::Seconds(20);
  helper.longest_pause = absl::ZeroDuration();
  HelperProcess process(helper);
  RemoteSharedFolder shared(process, folder_.path() + "/shared");
  Shipper shipper(Options(), shared);
  EXPECT_TRUE(shipper.Pass([] { return false; }).whole);
  ExpectCopied();
  EXPECT_EQ(ReadFile(folder_.path() + "/shared/@heartbeat/n1"), "{}\n");
  // If the helper is killed, a new one continues.
  kill(process.pid(), SIGKILL);
  Append(kOld, "\n{2}\n");
  for (int pass = 0; pass < 4; ++pass) shipper.Pass([] { return false; });
  ExpectCopied();
  // Errors are passed on unchanged.
  chmod((folder_.path() + "/shared").c_str(), 0777);
  Append(kOld, "\n{3}\n");
  const absl::Status trouble = shipper.Pass([] { return false; }).shared;
  EXPECT_TRUE(absl::IsPermissionDenied(trouble)) << trouble;
}

// ---- faults at any call

std::vector<std::pair<std::string, Fault>> EveryFault() {
  std::vector<std::pair<std::string, Fault>> faults;
  for (const int error : {ENOSPC, EIO, EINTR, EROFS, ESTALE, EACCES, EDQUOT, EMFILE}) {
    Fault once;
    once.error = error;
    Fault lasting = once;
    lasting.lasting = true;
    faults.emplace_back(strerror(error), once);
    faults.emplace_back(std::string(strerror(error)) + " from then on", lasting);
  }
  for (const int64_t moved : {0, 1, 7, 4000}) {
    Fault cut;
    cut.moved = moved;
    faults.emplace_back(std::to_string(moved) + " bytes moved", cut);
    cut.lasting = true;
    faults.emplace_back(std::to_string(moved) + " bytes moved from then on", cut);
  }
  return faults;
}

class ShipFaults : public ShipTest, public testing::WithParamInterface<bool> {
 protected:
  void Write() {
    Append(kOld, "\n{1}\n");
    Append(kNew, std::string(9000, 'y'));
    std::ofstream(Local("heartbeat")) << "{\"v\":1}\n";
  }
  // Copies may be incomplete, but what they contain is right.
  void ExpectBeginnings() {
    for (const char* file : {kOld, kNew}) {
      const std::string whole = ReadFile(Local(file));
      const std::string copy = ReadFile(Shared(file));
      ASSERT_EQ(copy, whole.substr(0, copy.size())) << file;
    }
    const std::string heartbeat = ReadFile(folder_.path() + "/shared/@heartbeat/n1");
    EXPECT_TRUE(heartbeat.empty() || heartbeat == "{\"v\":1}\n") << heartbeat;
  }
};

TEST_P(ShipFaults, AtAnyCallNothingIsLostDoubledOrOverwritten) {
  const bool far_side = GetParam();
  Write();
  FaultyFiles none;
  far_side ? Pass(RealFiles(), none) : Pass(none, RealFiles());
  const int calls = none.calls();
  ASSERT_GT(calls, 15);
  int struck = 0;
  for (const auto& [name, fault] : EveryFault()) {
    for (int at = 1; at <= calls; ++at) {
      SCOPED_TRACE(name + " at call " + std::to_string(at));
      fs::remove_all(folder_.path() + "/shared/n1");
      fs::remove_all(folder_.path() + "/shared/@heartbeat");
      FaultyFiles files(at, fault);
      Files& local = far_side ? RealFiles() : files;
      Files& remote = far_side ? files : RealFiles();
      DirectSharedFolder shared(folder_.path() + "/shared", geteuid(), remote);
      Shipper shipper(Options(local), shared);
      // Copying byte by byte needs this many calls; after an error it must not be retried forever.
      int asked = 0;
      shipper.Pass([&] { return ++asked > 200; });
      EXPECT_TRUE(fault.error == 0 || asked < 50) << asked;
      struck += files.struck() ? 1 : 0;
      ExpectBeginnings();
      // The same process, or the next one, completes the copies.
      files.Mend();
      if (at % 2 == 0) {
        for (int pass = 0; pass < 3; ++pass) shipper.Pass([] { return false; });
        ExpectCopied();
        EXPECT_EQ(ReadFile(folder_.path() + "/shared/@heartbeat/n1"), "{\"v\":1}\n");
      }
    }
    // The next daemon, which continues from any state.
    if (fs::exists(Shared(kNew))) fs::resize_file(Shared(kNew), 1);
    Pass();
    ExpectCopied();
    if (HasFailure()) return;
  }
  EXPECT_GT(struck, 200);
}
INSTANTIATE_TEST_SUITE_P(Sides, ShipFaults, testing::Bool(),
                         [](const auto& side) { return side.param ? "Shared" : "Local"; });

TEST_F(ShipTest, KilledAtAnyCallTheNextProcessBringsTheRest) {
  Append(kOld, "\n{1}\n");
  Append(kNew, std::string(kMaxPieceBytes + 5000, 'y'));
  FaultyFiles none;
  Pass(RealFiles(), none);
  for (int at = 1; at <= none.calls(); ++at) {
    fs::remove_all(Shared(""));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Fault death;
      death.before = [] { kill(getpid(), SIGKILL); };
      FaultyFiles files(at, death);
      Pass(RealFiles(), files);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << at;
    Pass();
    ExpectCopied();
  }
}

TEST_F(ShipTest, ManyProcessesOneAfterAnotherAndAGrowingFileEndInTheSameBytes) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (int round = 0; round < 300; ++round) {
    Append(round % 3 == 0 ? kOld : kNew, "\n{" + std::string(random() % 300, 'z') + "}\n");
    Fault fault;
    fault.error = random() % 2 == 0 ? EIO : 0;
    fault.moved = static_cast<int64_t>(random() % 200);
    fault.lasting = random() % 3 == 0;
    FaultyFiles files(static_cast<int>(random() % 40) + 1, fault);
    random() % 2 == 0 ? Pass(RealFiles(), files) : Pass(files, RealFiles());
  }
  Pass();
  ExpectCopied();
}

}  // namespace
}  // namespace goodput
