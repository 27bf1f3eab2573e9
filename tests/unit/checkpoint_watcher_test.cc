// When a checkpoint directory is looked at. The answers of the helper and the clock are made up.
#include "tools/goodputd/checkpoints/checkpoint_watcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tests/spank/temp_folder.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/look_cost.h"

namespace goodput {
namespace {

constexpr std::int64_t kMs = 1'000'000;
std::int64_t now_ns = 0;

class CheckpointWatcherTest : public testing::Test {
 protected:
  CheckpointWatcherTest()
      : jobs_(folder_.path()),
        quota_(RecordQuota::Limits{}),
        spools_(folder_.path(), 1 << 20, geteuid(), quota_),
        node_{config_, jobs_, spools_, spools_} {
    config_.checkpoint_scan = absl::Seconds(60);
    now_ns = 1'000'000 * kMs;
    auto job = std::make_shared<NodeJob>();
    job->node = "n1";
    job->job = 7;
    NodeJobs::WatchedJob watched;
    watched.job = job;
    watched.checkpoint_dir = "/ckpt";
    Clock clock = kSystemClock;
    clock.mono_ns = []() noexcept { return now_ns; };
    watcher_ = CheckpointWatcher::Make(node_, watched, clock);
  }
  // The helper answers the question that is due, after `took_ms`. Returns after how many ms the next one is
  // due.
  std::int64_t Look(std::int64_t took_ms, bool watched, const std::string& view) {
    const auto question = watcher_->Next(now_ns);
    EXPECT_TRUE(question);

    EXPECT_EQ(question->request.substr(0, 4), "look");
    now_ns = std::max(now_ns, question->due_ns);
    const std::int64_t began = now_ns;
    now_ns += took_ms * kMs;
    ScanResult result;
    result.watched = watched;
    result.view = view;
    result.took_ns = took_ms * kMs;
    watcher_->Take(EncodeScan(result));
    const auto next = watcher_->Next(now_ns);
    EXPECT_TRUE(next);
    return next ? (next->due_ns - began) / kMs : -1;
  }

  TempFolder folder_;
  Config config_;
  NodeJobs jobs_;
  RecordQuota quota_;
  NodeSpools spools_;
  NodeContext node_;
  std::unique_ptr<CheckpointWatcher> watcher_;
};

TEST_F(CheckpointWatcherTest, ALookThatCameTooEarlyIsRepeatedSoon) {
  EXPECT_EQ(Look(1, false, ""), 1000) << "the task is still being set up";
  EXPECT_EQ(Look(1, false, ""), 1000);
  EXPECT_EQ(Look(1, false, "node"), 60'000) << "a directory that cannot be watched";
}

TEST_F(CheckpointWatcherTest, OneSlowLookDelaysNothing) {
  EXPECT_EQ(Look(1, false, "node"), 60'000);
  EXPECT_EQ(Look(5000, false, "node"), 60'000) << "it waited for the processor";
  EXPECT_EQ(Look(5000, false, "node"), 500'000) << "the directory is large: 1 % of the time";
  EXPECT_EQ(Look(1, false, "node"), 60'000);
}

TEST_F(CheckpointWatcherTest, WaitsForChangesWhereTheyAreSeen) {
  now_ns = std::max(now_ns, watcher_->Next(now_ns)->due_ns);
  ScanResult result;
  result.watched = true;
  result.view = "task";
  watcher_->Take(EncodeScan(result));
  const auto wait = watcher_->Next(now_ns);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->request, "wait");
  now_ns += 100 * kMs;
  watcher_->Take(std::string("changed"));
  const auto look = watcher_->Next(now_ns);
  ASSERT_TRUE(look);
  EXPECT_EQ(look->request.substr(0, 4), "look");
  EXPECT_EQ((look->due_ns - now_ns) / kMs, 900) << "at most once a second";
}

TEST_F(CheckpointWatcherTest, ADirectoryThatWasHardToSearchForIsLookedIntoOnceItIsCreated) {
  EXPECT_EQ(Look(200, false, ""), 1000) << "the task is still being set up";
  EXPECT_EQ(Look(200, true, ""), 1000);
  const auto wait = watcher_->Next(now_ns);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->request, "wait");
  now_ns += 100 * kMs;
  watcher_->Take(std::string(kCreatedAnswer));
  const auto look = watcher_->Next(now_ns);
  ASSERT_TRUE(look);
  EXPECT_EQ(look->request.substr(0, 4), "look");
  EXPECT_EQ((look->due_ns - now_ns) / kMs, 700) << "at most once a second";
}

TEST(LookCostTest, IsTheShortestOfTheLastLooks) {
  LookCost<3> cost;
  cost.Add(true, 50);
  cost.Add(true, 70);
  EXPECT_EQ(cost.ns(), 0) << "too few";
  cost.Add(true, 60);
  EXPECT_EQ(cost.ns(), 50);
  cost.Add(true, 80);
  EXPECT_EQ(cost.ns(), 60);
  cost.Add(false, 90);
  EXPECT_EQ(cost.ns(), 0) << "a look that failed";
}

}  // namespace
}  // namespace goodput
