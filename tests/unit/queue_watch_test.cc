// Records of the queue watch with a fake controller.
#include "tools/goodputd/queue_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/spool.h"
#include "sql/record.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

class FakeController : public Controller {
 public:
  absl::StatusOr<std::vector<ControllerJob>> Jobs() override {
    if (away) return absl::UnavailableError("no controller");
    return jobs;
  }
  absl::StatusOr<std::vector<ControllerNode>> Nodes() override { return nodes; }
  std::string ClusterName() override { return "c1"; }
  std::vector<ControllerJob> jobs;
  std::vector<ControllerNode> nodes;
  bool away = false;
};

class QueueWatchTest : public testing::Test {
 protected:
  QueueWatchTest() {
    Spool::Config config;
    config.root = folder_.path() + "/spool";
    config.node = "@controller";
    EXPECT_EQ(spool_.Open(config), "");
  }
  // Everything written so far.
  std::string Written() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() + "/spool")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    return text;
  }
  // The first record.
  std::string Record() const {
    const std::string text = Written();
    const std::size_t begin = text.find('{');
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }
  // Every record as its kind and state or edge.
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    const std::string text = Written();
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
      const std::size_t end = text.find('\n', at);
      EXPECT_TRUE(record_.Parse(text.substr(at, end - at)));
      story.push_back(record_.Text(key::kKind) + " " + record_.Text(key::kState) + record_.Text(key::kEdge));
      at = end;
    }
    return story;
  }
  void Look(ControllerJob job) {
    controller_.jobs = {std::move(job)};
    const auto written = QueueWatch(controller_, spool_, kSystemClock, "c1").Poll();
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, 1);
    ASSERT_TRUE(record_.Parse(Record()));
  }

  TempFolder folder_;
  Spool spool_;
  FakeController controller_;
  RecordReader record_;
};

ControllerJob Job() {
  ControllerJob job;
  job.job_id = 7;
  job.state = "PENDING";
  job.reason = "Dependency";
  job.user = "ada";
  job.partition = "a3";
  job.nodes = "n[1-4]";
  return job;
}

TEST_F(QueueWatchTest, ANameThatSlurmTakesIsKept) {
  ControllerJob job = Job();
  job.name = std::string(1024, 'x');
  Look(job);
  EXPECT_EQ(record_.Text(key::kName), job.name);
}

TEST_F(QueueWatchTest, WhateverIsLongNothingElseIsLost) {
  ControllerJob job = Job();
  job.name = std::string(1024, '\x01');
  job.admin_comment = std::string(5000, '"');
  job.dependency = "afterok:" + std::string(5000, '1');
  Look(job);
  EXPECT_EQ(record_.Text(key::kName), std::string(350, '\x01'));
  EXPECT_EQ(record_.Text(key::kAdminComment), std::string(256, '"'));
  EXPECT_EQ(record_.Text(key::kDependency), "") << "half of it would name other jobs";
  EXPECT_EQ(record_.Text(key::kUser), "ada");
  EXPECT_EQ(record_.Text(key::kPartition), "a3");
  EXPECT_EQ(record_.Text(key::kNodes), "n[1-4]");
}

TEST_F(QueueWatchTest, ACharacterIsNotCutInTwo) {
  ControllerJob job = Job();
  for (int i = 0; i < 1000; ++i) job.name += "\u20ac";
  Look(job);
  EXPECT_EQ(record_.Text(key::kName).size(), 2100U);
  EXPECT_EQ(record_.Text(key::kName), job.name.substr(0, 2100));
}

using Strings = std::vector<std::string>;

TEST_F(QueueWatchTest, ItSaysFromWhenToWhenItLooked) {
  QueueWatch watch(controller_, spool_, kSystemClock, "c1");
  ASSERT_TRUE(watch.Poll().ok());
  ASSERT_TRUE(watch.Poll().ok());
  EXPECT_EQ(Story(), Strings{"watch begin"});
  controller_.away = true;
  EXPECT_FALSE(watch.Poll().ok());
  EXPECT_FALSE(watch.Poll().ok());
  EXPECT_EQ(Story(), (Strings{"watch begin", "watch end"}));
  controller_.away = false;
  ASSERT_TRUE(watch.Poll().ok());
  watch.End();
  watch.End();
  EXPECT_EQ(Story(), (Strings{"watch begin", "watch end", "watch begin", "watch end"}));
}

TEST_F(QueueWatchTest, AWatchThatIsKilledHadSaidSoNotLongBefore) {
  QueueWatch watch(controller_, spool_, kSystemClock, "c1");
  for (int i = 0; i < 2 * QueueWatch::kLooksBetweenRecords + 1; ++i) ASSERT_TRUE(watch.Poll().ok());
  EXPECT_EQ(Story(), (Strings{"watch begin", "watch still", "watch still"}));
}

TEST_F(QueueWatchTest, TheEndIsTheLastLookThatSucceeded) {
  static std::int64_t now_ns = 0;
  const Clock clock{[]() noexcept { return now_ns; }, []() noexcept { return now_ns; }};
  QueueWatch watch(controller_, spool_, clock, "c1");
  for (now_ns = 100; now_ns <= 300; now_ns += 100) ASSERT_TRUE(watch.Poll().ok());
  controller_.away = true;
  EXPECT_FALSE(watch.Poll().ok());
  EXPECT_EQ(Story().back(), "watch end");
  EXPECT_EQ(record_.Int(key::kTime), 300);
}

TEST_F(QueueWatchTest, WhatVanishesIsSaidOnce) {
  QueueWatch watch(controller_, spool_, kSystemClock, "c1");
  ControllerNode node;
  node.name = "n1";
  node.state = "IDLE";
  controller_.nodes = {node};
  controller_.jobs = {Job()};
  ASSERT_TRUE(watch.Poll().ok());
  controller_.nodes.clear();
  controller_.jobs.clear();
  for (const int changes : {2, 0}) {
    const auto written = watch.Poll();
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, changes);
  }
  EXPECT_EQ(Story(),
            (Strings{"queue PENDING", "node_state IDLE", "watch begin", "gone GONE", "node_state GONE"}));
}

TEST_F(QueueWatchTest, AJobThatWasSeenOverMayBeForgotten) {
  QueueWatch watch(controller_, spool_, kSystemClock, "c1");
  ControllerJob job = Job();
  job.state = "COMPLETED";
  job.flags = {"COMPLETING"};
  controller_.jobs = {job};
  ASSERT_TRUE(watch.Poll().ok());
  controller_.jobs.front().flags.clear();
  ASSERT_TRUE(watch.Poll().ok());
  controller_.jobs.clear();
  const auto written = watch.Poll();
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*written, 0);
}

TEST_F(QueueWatchTest, ANodeSaysWhatAFleetIsMadeOf) {
  ControllerNode node;
  node.name = "n1";
  node.state = "DRAINED*";
  node.flags = {"DOWN", "DRAIN"};
  node.reason = "Xid 79";
  node.reason_s = 5;
  node.reason_by = "root";
  node.gpus = 8;
  node.gpu_type = "h100";
  node.partitions = "a3,high";
  node.features = "spot";
  controller_.nodes = {node};
  QueueWatch watch(controller_, spool_, kSystemClock, "c1");
  ASSERT_TRUE(watch.Poll().ok());
  ASSERT_TRUE(record_.Parse(Record()));
  EXPECT_EQ(record_.Texts(key::kFlags), node.flags);
  EXPECT_EQ(record_.Int(key::kGpus), 8);
  EXPECT_EQ(record_.Text(key::kPartitions), "a3,high");
  EXPECT_EQ(record_.Text(key::kFeatures), "spot");
  EXPECT_EQ(record_.Text(key::kReasonBy), "root");
  EXPECT_EQ(record_.Text(key::kGpuType), "h100");
}

TEST_F(QueueWatchTest, AJobSaysWhatItMayHave) {
  ControllerJob job = Job();
  job.time_limit_s = 3600;
  job.tres = "cpu=8,gres/gpu=16";
  job.reservation = "llm";
  job.qos = "high";
  Look(job);
  EXPECT_EQ(record_.Int(key::kTimeLimitS), 3600);
  EXPECT_EQ(record_.Text(key::kTres), job.tres);
  EXPECT_EQ(record_.Text(key::kReservation), "llm");
  EXPECT_EQ(record_.Text(key::kQos), "high");
}

}  // namespace
}  // namespace goodput
