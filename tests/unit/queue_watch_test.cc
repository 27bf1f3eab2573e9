// What the queue watch writes about a controller that says whatever the test wants.
#include "tools/goodputd/queue_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/spool.h"
#include "tests/spank/temp_folder.h"
#include "tools/runs/record.h"

namespace goodput {
namespace {

class FakeController : public Controller {
 public:
  absl::StatusOr<std::vector<ControllerJob>> Jobs() override { return jobs; }
  absl::StatusOr<std::vector<ControllerNode>> Nodes() override { return std::vector<ControllerNode>{}; }
  std::string ClusterName() override { return "c1"; }
  std::vector<ControllerJob> jobs;
};

class QueueWatchTest : public testing::Test {
 protected:
  QueueWatchTest() {
    Spool::Config config;
    config.root = folder_.path() + "/spool";
    config.node = "@controller";
    EXPECT_EQ(spool_.Open(config), "");
  }
  // The one record written so far.
  std::string Record() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() + "/spool")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    const std::size_t begin = text.find('{');
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
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

}  // namespace
}  // namespace goodput
