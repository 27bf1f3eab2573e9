// Parts of the daemon that need no Slurm.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spank/event.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/unix_socket.h"
#include "tools/goodputd/job_state_sweep.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/record_quota.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

std::int64_t fake_mono_ns = 0;
constexpr Clock kFakeClock = {[]() noexcept { return std::int64_t{1}; },
                              []() noexcept { return fake_mono_ns; }};

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
  RecordQuota quota_{{600, 1000, 100'000}, kFakeClock};  // 10 bytes a second
};

TEST_F(RecordQuotaTest, AJobHasABurstAndThenARate) {
  EXPECT_TRUE(quota_.Allow(Job(1, 1000), 900));
  EXPECT_FALSE(quota_.Allow(Job(1, 1000), 101));
  EXPECT_TRUE(quota_.Allow(Job(2, 1000), 900)) << "another job has its own";
  fake_mono_ns += 20'000'000'000;
  EXPECT_TRUE(quota_.Allow(Job(1, 1000), 300));
  EXPECT_FALSE(quota_.Allow(Job(1, 1000), 1));
  fake_mono_ns += 3600LL * 1'000'000'000;
  EXPECT_FALSE(quota_.Allow(Job(1, 1000), 1001)) << "no more than the burst is saved up";
}

TEST_F(RecordQuotaTest, WhatIsRefusedIsCountedByJobOnce) {
  EXPECT_TRUE(quota_.TakeRefused().empty());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(quota_.Allow(Job(7, 1000), 2000));
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
}

TEST_F(RecordQuotaTest, AUserWithManyJobsLeavesOthersTheirShareOfAnHour) {
  RecordQuota quota({600, 1'000'000, 100'000}, kFakeClock);
  std::uint64_t used = 0;
  for (std::int64_t id = 1; id <= 200; ++id) used += quota.Allow(Job(id, 666), 1000) ? 1000 : 0;
  EXPECT_EQ(used, 50'000U) << "half of the hour, which is also an only user's share of the other half";
  std::uint64_t honest = 0;
  for (int i = 0; i < 200; ++i) honest += quota.Allow(Job(1000, 1000), 1000) ? 1000 : 0;
  EXPECT_EQ(honest, 25'000U) << "one of two users";
  std::uint64_t third = 0;
  for (int i = 0; i < 200; ++i) third += quota.Allow(Job(2000, 2000), 1000) ? 1000 : 0;
  EXPECT_EQ(third, 16'000U) << "one of three";
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
