// Heartbeats of a dead node: kept until its end is known from its records.
#include "sql/tables/heartbeats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

class HeartbeatsTest : public testing::Test {
 protected:
  HeartbeatsTest() : db_(*Database::Open(folder_.path() + "/db", Database::Mode::kReadWrite)) {}

  void Say(std::int64_t t, const std::string& boot, const std::vector<std::int64_t>& jobs,
           std::int64_t m = -1) {
    NodeHeartbeat heartbeat{"n1", boot, t, m < 0 ? t - 100 : m, {}};
    for (const std::int64_t job : jobs) heartbeat.jobs.push_back({"a3", job, job * 10});
    Transaction transaction(db_);
    ASSERT_TRUE(StoreHeartbeat(db_, heartbeat, "").ok());
    ASSERT_TRUE(transaction.Commit().ok());
  }
  // The times when each was last seen.
  std::vector<std::int64_t> Seen(std::int64_t job) {
    JobKey key;
    key.cluster = "a3";
    key.job_id = job;
    std::vector<std::int64_t> seen;
    const auto rows = LoadHeartbeats(db_, key);
    EXPECT_TRUE(rows.ok()) << rows.status();
    for (const Heartbeat& row : *rows) seen.push_back(row.last_seen_ns);
    return seen;
  }

  TempFolder folder_;
  Database db_;
};

using Times = std::vector<std::int64_t>;

TEST_F(HeartbeatsTest, AJobIsKnownToHaveLivedWhenItWasLastSeen) {
  Say(1000, "boot1", {1, 2});
  Say(2000, "boot1", {1, 2});
  EXPECT_EQ(Seen(1), Times{2000});
  EXPECT_EQ(Seen(2), Times{2000});
  EXPECT_EQ(Seen(3), Times{});
}

TEST_F(HeartbeatsTest, OfAJobThatEndedWhileItsNodeLivedNothingIsKept) {
  Say(1000, "boot1", {1, 2});
  Say(2000, "boot1", {2});
  EXPECT_EQ(Seen(1), Times{});
  EXPECT_EQ(Seen(2), Times{2000});
}

TEST_F(HeartbeatsTest, WithoutABootIdAnotherClockIsAnotherBoot) {
  constexpr std::int64_t kS = 1'000'000'000;
  Say(1000 * kS, "unknown-boot", {1}, 900 * kS);
  // After a reboot its monotonic clock is lower, although its report is later.
  Say(1200 * kS, "unknown-boot", {2}, 50 * kS);
  EXPECT_EQ(Seen(1), Times{1000 * kS}) << "how far the work went when it died";
  EXPECT_EQ(Seen(2), Times{1200 * kS});
  Say(1210 * kS, "unknown-boot", {}, 60 * kS);
  EXPECT_EQ(Seen(1), Times{1000 * kS});
  EXPECT_EQ(Seen(2), Times{}) << "it ended while its node lived";
}

TEST_F(HeartbeatsTest, WhatANodeSawBeforeItDiedStaysAfterItsNextBoot) {
  Say(1000, "boot1", {1});
  Say(5000, "boot2", {2}, 10);
  EXPECT_EQ(Seen(1), Times{1000});
  EXPECT_EQ(Seen(2), Times{5000});
}

TEST_F(HeartbeatsTest, AnOlderOneOfTheSameBootChangesNothing) {
  Say(2000, "boot1", {1});
  Say(1000, "boot1", {});
  EXPECT_EQ(Seen(1), Times{2000});
}

TEST_F(HeartbeatsTest, AClockThatWasSetBackIsNoOlderHeartbeat) {
  Say(2000, "boot1", {1}, 50);
  Say(1000, "boot1", {1}, 60);
  EXPECT_EQ(Seen(1), Times{1000});
}

TEST_F(HeartbeatsTest, AJobIdUsedAgainHasItsOwn) {
  Say(1'000'000'000'000, "boot1", {50'000'000'000});
  JobKey later;
  later.cluster = "a3";
  later.job_id = 50'000'000'000;
  later.from_s = 501;  // its attempt began in second 500
  EXPECT_TRUE(LoadHeartbeats(db_, later)->empty());
  later.from_s = 500;
  EXPECT_EQ(LoadHeartbeats(db_, later)->size(), 1U);
}

TEST(Heartbeat, IsReadAsTheDaemonWritesIt) {
  const auto heartbeat = ParseHeartbeat(
      R"({"v":1,"t":12,"m":3,"node":"n1","boot":"b","jobs":[{"cluster":"c","job":1,"since":5},{"job":2,"since":6}]})");
  ASSERT_TRUE(heartbeat.ok()) << heartbeat.status();
  EXPECT_EQ(heartbeat->node, "n1");
  EXPECT_EQ(heartbeat->boot, "b");
  EXPECT_EQ(heartbeat->t_ns, 12);
  EXPECT_EQ(heartbeat->m_ns, 3);
  ASSERT_EQ(heartbeat->jobs.size(), 2U);
  EXPECT_EQ(heartbeat->jobs[0].cluster, "c");
  EXPECT_EQ(heartbeat->jobs[1].job_id, 2);
  EXPECT_EQ(heartbeat->jobs[1].since_ns, 6);
}

TEST(Heartbeat, WhatIsNoneIsRefused) {
  for (const char* text : {"", "7", "{}", R"({"v":1,"t":12,"m":3,"node":"n1","boot":"b"})",
                           R"({"v":2,"t":12,"m":3,"node":"n1","boot":"b","jobs":[]})",
                           R"({"v":1,"t":12,"m":3,"node":"n1","boot":"b","jobs":[{"job":1}]})",
                           R"({"v":1,"t":-9223372036854775808,"m":9,"node":"n1","boot":"b","jobs":[]})",
                           R"({"v":1,"t":9223372036854775807,"m":-9,"node":"n1","boot":"b","jobs":[]})",
                           R"({"v":1,"t":12,"m":3,"node":"n1","boot":"b","jobs":[)"}) {
    EXPECT_FALSE(ParseHeartbeat(text).ok()) << text;
  }
}

}  // namespace
}  // namespace goodput
