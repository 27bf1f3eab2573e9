// Parts of the daemon that need no Slurm.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "spank/event.h"
#include "tests/spank/json_check.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/unix_socket.h"
#include "tools/goodputd/job_state_sweep.h"
#include "tools/goodputd/mark_server.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/record_quota.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

std::atomic<std::int64_t> fake_real_ns{1};
std::atomic<std::int64_t> fake_mono_ns{0};
constexpr Clock kFakeClock = {[]() noexcept { return fake_real_ns.load(); },
                              []() noexcept { return fake_mono_ns.load(); }};

class OwnersTest : public testing::Test {
 protected:
  OwnersTest() { fs::create_directories(folder_.path() + "/n1"); }
  void Start(std::int64_t job, uid_t uid) const {
    RecordBuilder record(kind::kJobProlog, {1, 1, "n1", 1});
    record.Int(key::kJob, job);
    record.Int(key::kUid, uid);
    std::ofstream(folder_.path() + "/n1/boot.2026010100Z.jsonl", std::ios::app) << record.Finish();
  }
  TempFolder folder_;
  NodeJobs jobs_{folder_.path(), kFakeClock, "boot"};
};

TEST_F(OwnersTest, AJobIsKnownAsSoonAsItsRecordIsThere) {
  EXPECT_EQ(jobs_.OwnerOf(7, 1000), nullptr);
  fake_mono_ns += JobOwners::kUnknownForNs;
  Start(7, 1000);
  ASSERT_NE(jobs_.OwnerOf(7, 1000), nullptr);
  EXPECT_EQ(jobs_.OwnerOf(7, 1000)->uid, 1000U);
  EXPECT_EQ(jobs_.OwnerOf(7, 1000)->first_node, "n1");
}

TEST_F(OwnersTest, AJobThatIsNotThereIsNotLookedForAgainAtOnce) {
  EXPECT_EQ(jobs_.OwnerOf(7, 1000), nullptr);
  Start(7, 1000);
  EXPECT_EQ(jobs_.OwnerOf(7, 1000), nullptr) << "no look within the second";
  fake_mono_ns += JobOwners::kUnknownForNs;
  EXPECT_NE(jobs_.OwnerOf(7, 1000), nullptr);
}

TEST_F(OwnersTest, WhoAsksForManyJobsThatAreNotThereIsNotLookedForUntilLater) {
  for (std::int64_t job = 1; job <= static_cast<std::int64_t>(JobOwners::kMaxUnknown); ++job) {
    EXPECT_EQ(jobs_.OwnerOf(job, 1000), nullptr);
  }
  Start(500, 1000);
  EXPECT_EQ(jobs_.OwnerOf(500, 1000), nullptr);
  fake_mono_ns += JobOwners::kUnknownForNs;
  EXPECT_NE(jobs_.OwnerOf(500, 1000), nullptr);
}

TEST_F(OwnersTest, NobodyCanHideAnothersJobByAskingForItFirst) {
  for (std::int64_t job = 1; job <= 200; ++job) EXPECT_EQ(jobs_.OwnerOf(job, 666), nullptr);
  Start(7, 1000);
  EXPECT_NE(jobs_.OwnerOf(7, 1000), nullptr);
}

TEST_F(OwnersTest, AnIdThatWasUsedAgainIsItsNewOwners) {
  Start(7, 1000);
  ASSERT_NE(jobs_.OwnerOf(7, 1000), nullptr);
  Start(7, 2000);
  ASSERT_NE(jobs_.OwnerOf(7, 2000), nullptr);
  EXPECT_EQ(jobs_.OwnerOf(7, 2000)->uid, 2000U);
  EXPECT_EQ(jobs_.OwnerOf(7, 1000)->uid, 2000U) << "and no longer the old one's";
}

// --- quotas

class RecordQuotaTest : public testing::Test {
 protected:
  static NodeJob Job(std::int64_t id, uid_t uid) {
    NodeJob job;
    job.node = "n1";
    job.job = id;
    job.uid = uid;
    return job;
  }
  bool Allow(const NodeJob& job, std::uint64_t bytes) {
    return quota_.Allow(job, bytes, [] { return std::uint64_t{0}; });
  }
  RecordQuota quota_{{600, 1000, 100'000}, kFakeClock};  // 10 bytes a second
};

TEST_F(RecordQuotaTest, AJobHasABurstAndThenARate) {
  EXPECT_TRUE(Allow(Job(1, 1000), 900));
  EXPECT_FALSE(Allow(Job(1, 1000), 101));
  EXPECT_TRUE(Allow(Job(2, 1000), 900)) << "another job has its own";
  fake_mono_ns += 20'000'000'000;
  EXPECT_TRUE(Allow(Job(1, 1000), 300));
  EXPECT_FALSE(Allow(Job(1, 1000), 1));
  fake_mono_ns += 3600LL * 1'000'000'000;
  EXPECT_FALSE(Allow(Job(1, 1000), 1001)) << "no more than the burst is saved up";
}

TEST_F(RecordQuotaTest, WhatIsRefusedIsCountedByJobOnce) {
  EXPECT_TRUE(quota_.TakeRefused().empty());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Allow(Job(7, 1000), 2000));
  quota_.NotStored(Job(8, 1000));
  std::vector<RecordQuota::Refused> refused = quota_.TakeRefused();
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].job.job, 7);
  EXPECT_EQ(refused[0].records, 3U);
  EXPECT_EQ(refused[1].records, 1U);
  EXPECT_TRUE(quota_.TakeRefused().empty());
  quota_.PutBack(refused[0]);
  quota_.NotStored(Job(7, 1000));
  EXPECT_EQ(quota_.TakeRefused()[0].records, 4U);
  quota_.NotStored(Job(7, 1000));
  quota_.PutBack(refused[0]);
  EXPECT_EQ(quota_.TakeRefused()[0].records, 4U) << "what was refused meanwhile counts as well";
}

// A node whose spool is read or not, and jobs that write 1000 bytes at a time.
class HourQuotaTest : public RecordQuotaTest {
 protected:
  HourQuotaTest() { fake_real_ns = 3600LL * 1'000'000'000; }
  // How much of `bytes` jobs of a user, from `id` on, may write.
  std::uint64_t Write(std::int64_t id, uid_t uid, std::uint64_t bytes, const std::string& node = "n1") {
    std::uint64_t written = 0;
    for (std::uint64_t sent = 0; sent < bytes; sent += 1000) {
      NodeJob job = Job(id++, uid);
      job.node = node;
      if (hourly_.Allow(job, 1000, [&] { return held_[node]; })) written += 1000;
    }
    held_[node] += written;
    return written;
  }
  static void Pass(std::int64_t seconds) {
    fake_real_ns += seconds * 1'000'000'000;
    fake_mono_ns += seconds * 1'000'000'000;
  }
  std::map<std::string, std::uint64_t> held_;
  RecordQuota hourly_{{600, 1'000'000, 100'000}, kFakeClock};
};

TEST_F(HourQuotaTest, AUserWithManyJobsLeavesOthersTheirShareOfAnHour) {
  EXPECT_EQ(Write(1, 666, 200'000), 50'000U)
      << "half of the hour, which is also an only user's share of the other half";
  EXPECT_EQ(Write(1000, 1000, 200'000), 25'000U) << "one of two users";
  EXPECT_EQ(Write(2000, 2000, 200'000), 16'000U) << "one of three";
  EXPECT_EQ(Write(1, 666, 200'000, "n2"), 50'000U) << "another node has its own spool";
}

TEST_F(HourQuotaTest, TheNextHourHasTheRoomThatIsLeft) {
  EXPECT_EQ(Write(1, 666, 200'000), 50'000U);
  Pass(3600);
  EXPECT_EQ(Write(1, 666, 200'000), 25'000U) << "half of what is left";
  EXPECT_EQ(Write(1000, 1000, 200'000), 12'000U);
  for (int hour = 0; hour < 20; ++hour) {
    Pass(3600);
    Write(1, 666, 200'000);
    Write(1000, 1000, 200'000);
  }
  EXPECT_LE(held_["n1"], 100'000U);
  EXPECT_GT(held_["n1"], 95'000U);
}

TEST_F(HourQuotaTest, FilesThatAreRemovedMakeRoomWithinTheHour) {
  held_["n1"] = 100'000;
  EXPECT_EQ(Write(1, 666, 10'000), 0U);
  held_["n1"] = 0;
  Pass(9);
  EXPECT_EQ(Write(1, 666, 10'000), 0U) << "it looks every ten seconds";
  Pass(1);
  EXPECT_EQ(Write(1, 666, 200'000), 50'000U);
  held_["n1"] = 0;
  Pass(10);
  EXPECT_EQ(Write(1, 666, 200'000), 0U) << "no more than the spool can hold in an hour";
  Pass(3600);
  EXPECT_EQ(Write(1, 666, 200'000), 50'000U);
}

TEST_F(HourQuotaTest, TheQuarterOfThePluginIsLeftToItAcrossHours) {
  const TempFolder folder;
  const std::string root = folder.path() + "/spool";
  constexpr std::uint64_t kMax = 200'000;
  RecordQuota quota({1 << 30, 1 << 30, kMax - kMax / 4}, kFakeClock);
  NodeSpools spools(root, kMax - kMax / 4, geteuid(), quota, kFakeClock);
  const std::string line(1000, 'x');
  Spool plugin;
  Spool::Config config;
  config.root = root;
  config.node = "n1";
  config.max_bytes = kMax;
  config.owner = geteuid();
  config.clock = kFakeClock;
  ASSERT_EQ(plugin.Open(config), "");
  for (int hour = 0; hour < 8; ++hour) {
    for (uid_t user = 1; user <= 3; ++user) {
      for (int i = 0; i < 200; ++i) spools.Write(Job(user, user), line);
    }
    EXPECT_EQ(plugin.Write(line), Append::kWritten) << "hour " << hour;
    Pass(3600);
  }
  EXPECT_LE(plugin.BytesHeld(), kMax - kMax / 4 + 8 * line.size());
}

// --- the mark socket

class OldProcess : public Processes {
 public:
  std::optional<ProcessStatus> Status(pid_t /*thread*/) const override { return std::nullopt; }
  std::string Cgroups(pid_t /*process*/) const override { return ""; }
  std::string Program(pid_t /*process*/) const override { return ""; }
  std::optional<std::int64_t> BeganNs(pid_t /*process*/) const override {
    return ReadClockNs(CLOCK_BOOTTIME);
  }
};

constexpr std::int64_t kS = 1'000'000'000;

// Jobs 1 to 9 are this user's, job 666 is another's. With 256 descriptors there are 64 places: 16 for one
// user, 8 for one job, 16 for connections that have sent nothing.
class MarkServerTest : public testing::Test {
 protected:
  MarkServerTest() {
    fake_mono_ns = 10'000 * kS;
    fs::create_directories(spool() + "/n1");
    for (std::int64_t job = 1; job <= 9; ++job) Begin(job, geteuid());
    Begin(666, geteuid() + 1);
    getrlimit(RLIMIT_NOFILE, &limit_);
    const rlimit small{256, 256};
    limited_ = geteuid() == 0 && setrlimit(RLIMIT_NOFILE, &small) == 0;
    MarkServer::Options options;
    options.socket = socket_;
    options.spool_root = spool();
    options.clock = kFakeClock;
    options.processes = &processes_;
    server_ = std::make_unique<MarkServer>(options, jobs_, spools_);
    EXPECT_TRUE(server_->Listen().ok());
    thread_ = std::thread([this] { server_->Serve(stop_fd_); });
  }
  ~MarkServerTest() override {
    Stop();
    for (const int client : clients_) close(client);
    close(stop_fd_);
    if (limited_) setrlimit(RLIMIT_NOFILE, &limit_);
  }
  void Stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(write(stop_fd_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
  }
  std::string spool() const { return folder_.path() + "/spool"; }
  void Begin(std::int64_t job, uid_t uid) const { Write(kind::kJobProlog, job, uid); }
  void Write(std::string_view kind, std::int64_t job, uid_t uid) const {
    RecordBuilder record(kind, {1, 1, "n1", 1});
    record.Int(key::kJob, job);
    record.Int(key::kUid, uid);
    std::ofstream(spool() + "/n1/boot.2026010100Z.jsonl", std::ios::app) << record.Finish();
  }
  int Connect() {
    const int client = ConnectUnixSocket(socket_);
    EXPECT_GE(client, 0);
    clients_.push_back(client);
    return client;
  }
  static bool Send(int client, std::int64_t job, std::int64_t step, const std::string& more = "") {
    const std::string mark = "{\"v\":1,\"mark\":\"step\",\"job\":" + std::to_string(job) +
                             ",\"train_step\":" + std::to_string(step) + more + "}";
    return send(client, mark.data(), mark.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(mark.size());
  }
  // The server has closed it, or does so within `seconds`.
  static bool IsClosed(int client, double seconds) {
    pollfd polled{client, POLLIN, 0};
    return poll(&polled, 1, static_cast<int>(seconds * 1000)) == 1 && (polled.revents & POLLHUP) != 0;
  }
  // Until that many marks are in the spool.
  void WaitStored(int marks) const {
    for (int tries = 0; tries < 2000; ++tries) {
      int found = 0;
      for (const auto& file : fs::directory_iterator(spool() + "/n1")) {
        std::ifstream in(file.path());
        for (std::string line; std::getline(in, line);)
          found += line.find("\"kind\":\"mark\"") != std::string::npos ? 1 : 0;
      }
      if (found >= marks) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "the marks are not stored";
  }
  // The records of marks and starts, once the server has stopped.
  std::vector<json_check::Value> Records() {
    Stop();
    std::vector<json_check::Value> records;
    for (const auto& file : fs::directory_iterator(spool() + "/n1")) {
      std::ifstream in(file.path());
      for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.find("job_prolog") != std::string::npos) continue;
        if (line.find("\"kind\":\"mark\"") == std::string::npos &&
            line.find("program_start") == std::string::npos)
          continue;
        const auto record = json_check::Parse(line);
        EXPECT_TRUE(record) << line;
        records.push_back(*record);
      }
    }
    return records;
  }

  TempFolder folder_;
  std::string socket_ = "@goodput-test-marks-" + std::to_string(getpid());
  OldProcess processes_;
  NodeJobs jobs_{spool(), kFakeClock, "boot"};
  RecordQuota quota_{{}, kFakeClock};
  NodeSpools spools_{spool(), 1 << 30, geteuid(), quota_, kFakeClock};
  int stop_fd_ = eventfd(0, EFD_CLOEXEC);
  rlimit limit_{};
  bool limited_ = false;
  std::unique_ptr<MarkServer> server_;
  std::thread thread_;
  std::vector<int> clients_;
};

TEST_F(MarkServerTest, WaitsForASocketWhoseProcessIsEnding) {
  const std::string name = socket_ + "-ends";
  const UnixAddress address = UnixAddressOf(name);
  const int ending = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(ending, address.get(), address.length), 0);
  MarkServer::Options options;
  options.socket = name;
  options.spool_root = spool();
  MarkServer next(options, jobs_, spools_);
  const absl::Status taken = next.Listen();
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  std::thread end([&] {
    usleep(300'000);
    close(ending);
  });
  EXPECT_TRUE(next.Listen().ok());
  end.join();
}

TEST_F(MarkServerTest, AMarkIsAsOldAsItMayHaveWaitedAndNoOlder) {
  const int client = Connect();
  for (const std::int64_t before_s : {2, 7200, -5})
    EXPECT_TRUE(Send(client, 1, before_s + 10, ",\"m\":" + std::to_string(fake_mono_ns - before_s * kS)));
  std::map<std::string, std::string> monotonic;
  for (const auto& record : Records()) {
    if (record.has("train_step")) monotonic[record.at("train_step").text] = record.at("m").text;
  }
  EXPECT_EQ(monotonic["12"], std::to_string(9'998 * kS));
  EXPECT_EQ(monotonic["7210"], std::to_string(10'000 * kS)) << "two hours are not believed";
  EXPECT_EQ(monotonic["5"], std::to_string(10'000 * kS)) << "nor is the future";
}

TEST_F(MarkServerTest, AMarkForAnothersJobIsCountedAndNotStored) {
  const int client = Connect();
  EXPECT_TRUE(Send(client, 666, 1));
  EXPECT_TRUE(Records().empty());
  EXPECT_EQ(server_->counts().not_owner, 1U);
}

TEST_F(MarkServerTest, TheSecondMarkOfAProcessTellsWhenItBegan) {
  const int single = Connect();
  EXPECT_TRUE(Send(single, 1, 1));
  const int program = Connect();
  for (const int step : {1, 2, 3}) EXPECT_TRUE(Send(program, 2, step));
  std::vector<std::string> jobs;
  for (const auto& record : Records()) {
    if (record.at("kind").text == "program_start") jobs.push_back(record.at("job").text);
  }
  EXPECT_EQ(jobs, std::vector<std::string>{"2"});
}

TEST_F(MarkServerTest, OneJobTakesAnEighthOfAllPlaces) {
  if (!limited_) GTEST_SKIP() << "needs root";
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Send(Connect(), 1, i));
  WaitStored(8);
  const int ninth = Connect();
  EXPECT_TRUE(Send(ninth, 1, 8));
  EXPECT_TRUE(IsClosed(ninth, 20));
  EXPECT_FALSE(IsClosed(clients_.front(), 0));
  EXPECT_TRUE(Send(Connect(), 2, 9));
  EXPECT_EQ(Records().size(), 9U);
}

TEST_F(MarkServerTest, OneUserTakesAQuarterOfAllPlaces) {
  if (!limited_) GTEST_SKIP() << "needs root";
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(Send(Connect(), 1 + i / 6, i));
  WaitStored(16);
  const int next = Connect();
  EXPECT_TRUE(IsClosed(next, 20));
  EXPECT_FALSE(IsClosed(clients_.front(), 0));
}

TEST_F(MarkServerTest, ConnectionsThatSendNothingCloseForNewerOnes) {
  if (!limited_) GTEST_SKIP() << "needs root";
  for (int i = 0; i < 16; ++i) Connect();
  const int next = Connect();
  EXPECT_TRUE(Send(next, 1, 1));
  EXPECT_EQ(Records().size(), 1U) << "the newcomer is served";
  EXPECT_EQ(server_->counts().too_many, 1U);
}

TEST_F(MarkServerTest, AConnectionNeedsAJobAndThatJobToRun) {
  const int silent = Connect();
  const int lasting = Connect();
  const int over = Connect();
  EXPECT_TRUE(Send(lasting, 1, 1));
  EXPECT_TRUE(Send(over, 2, 1));
  WaitStored(2);
  EXPECT_FALSE(IsClosed(silent, 1.5));
  fake_mono_ns += 11 * kS;
  EXPECT_TRUE(IsClosed(silent, 20));
  Write(kind::kJobEpilog, 2, geteuid());
  jobs_.Refresh();
  fake_mono_ns += 61 * kS;
  EXPECT_TRUE(IsClosed(over, 20));
  EXPECT_FALSE(IsClosed(lasting, 1.5));
}

TEST(NoteSweep, RemovesNotesFromBeforeTheBootAndNothingElse) {
  TempFolder folder;
  const std::string node = folder.path() + "/n1";
  fs::create_directories(node);
  constexpr std::int64_t kBoot = 1'767'225'600;
  const auto make = [&](const std::string& name, std::int64_t age_s) {
    std::ofstream(node + "/" + name) << "x";
    const timespec times[2] = {{kBoot - age_s, 0}, {kBoot - age_s, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (node + "/" + name).c_str(), times, 0), 0);
  };
  for (const char* stale : {"job.12", "job.12.new.77", "job.4294967295"}) make(stale, 7200);
  for (const char* other : {"cluster", "dropped", "boot.2026010100Z.jsonl", "job.x", "job.", "job.1.old",
                            "job.1.new.", "disabled"}) {
    make(other, 7200);
  }
  make("job.13", 60);     // the clock may have been set after the boot
  make("job.14", -7200);  // of this boot, however long it runs
  fs::create_symlink("cluster", node + "/job.15");
  EXPECT_EQ(SweepNotes(folder.path(), kBoot), 3);
  EXPECT_FALSE(fs::exists(node + "/job.12"));
  for (const char* kept : {"cluster", "dropped", "boot.2026010100Z.jsonl", "job.x", "job.", "job.1.old",
                           "job.1.new.", "disabled", "job.13", "job.14", "job.15"}) {
    EXPECT_TRUE(fs::exists(node + "/" + kept)) << kept;
  }
  EXPECT_EQ(SweepNotes(folder.path() + "/nowhere", kBoot), 0);
}

TEST(NoteSweep, TheBootWasBeforeNow) {
  EXPECT_GT(BootTime(), 0);
  EXPECT_LE(BootTime(), time(nullptr));
}

TEST(UnixSocket, AnAbstractNameHasNoPathAndAPathItsNul) {
  const UnixAddress abstract = UnixAddressOf("@goodput");
  EXPECT_EQ(abstract.length, offsetof(sockaddr_un, sun_path) + 8);
  EXPECT_EQ(abstract.address.sun_path[0], '\0');
  EXPECT_EQ(UnixAddressOf("/run/x").length, offsetof(sockaddr_un, sun_path) + 7);
  EXPECT_EQ(UnixAddressOf("").length, 0U);
  EXPECT_EQ(UnixAddressOf("/" + std::string(106, 'x')).length, offsetof(sockaddr_un, sun_path) + 108);
  EXPECT_EQ(UnixAddressOf("/" + std::string(107, 'x')).length, 0U);
}

TEST(UnixSocket, ConnectsToWhoeverListensThere) {
  TempFolder folder;
  for (const std::string& name : {"@goodput-test-" + std::to_string(getpid()), folder.path() + "/socket"}) {
    for (const int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
      EXPECT_EQ(ConnectUnixSocket(name, type), -1);
      const int listener = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
      const UnixAddress address = UnixAddressOf(name);
      ASSERT_EQ(bind(listener, address.get(), address.length), 0);
      ASSERT_EQ(listen(listener, 1), 0);
      const int client = ConnectUnixSocket(name, type);
      EXPECT_GE(client, 0) << name;
      close(client);
      close(listener);
      unlink(name.c_str());
    }
  }
}

}  // namespace
}  // namespace goodput
