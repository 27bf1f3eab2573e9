// Many jobs, few helpers: one that hangs delays its own job, and no user takes them all.
#include "tools/goodputd/job_watches.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMs = 1'000'000;

// With an argument it takes a while to start, has a file in that folder meanwhile, and reports how many there
// are.
HelperAnswers EchoHelper(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    const fs::path own = fs::path(arguments[0]) / std::to_string(getpid());
    std::ofstream(own).put('\n');
    const fs::directory_iterator all(arguments[0]);
    std::ofstream(arguments[1], std::ios::app) << std::distance(begin(all), end(all)) << std::endl;
    usleep(30'000);
    fs::remove(own);
  }
  return [](std::string_view request, const HelperProgress&) -> std::string {
    while (request == "hang") pause();
    return std::string(request);
  };
}

// What became of one job.
struct Story {
  int answers = 0;
  int failures = 0;
  int gone = 0;
  int started = 0;
  bool job_ended = false;
  bool stopped = false;
  bool destroyed = false;
};

// Asks the same question every `every_ns`, and once more when its job has ended.
class Asker : public JobWatcher {
 public:
  Asker(std::string request, std::int64_t every_ns, Story& story, std::vector<std::string> arguments)
      : request_(std::move(request)), every_ns_(every_ns), story_(story), arguments_(std::move(arguments)) {}
  ~Asker() override { story_.destroyed = true; }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  std::string helper_name() const override { return "echo"; }
  std::int64_t helper_bytes() const override { return 1; }
  std::vector<std::string> HelperArguments() override {
    ++story_.started;
    return arguments_;
  }
  std::optional<Question> Next(std::int64_t now_ns) override {
    if (finished_) return std::nullopt;
    return Question{request_, story_.job_ended ? now_ns : due_ns_, false};
  }
  void Take(const absl::StatusOr<std::string>& answer) override {
    ++(answer.ok() ? story_.answers : story_.failures);
    if (answer.ok()) {
      EXPECT_EQ(*answer, request_);
    }
    finished_ = story_.job_ended || story_.stopped;
    due_ns_ = kSystemClock.mono_ns() + every_ns_;
  }
  void HelperIsGone() override { ++story_.gone; }
  void JobEnded() override { story_.job_ended = true; }
  void DaemonStops() override { story_.stopped = finished_ = true; }

 private:
  std::string request_;
  std::int64_t every_ns_;
  std::int64_t due_ns_ = 0;
  Story& story_;
  std::vector<std::string> arguments_;
  bool finished_ = false;
};

struct Job {
  std::shared_ptr<const NodeJob> job;
  std::string request;
};

class JobWatchesTest : public testing::Test {
 protected:
  ~JobWatchesTest() override { close(stop_fd_); }
  // Of `uid`, which only root can become.
  void Add(std::int64_t id, uid_t uid, const std::string& request = "x") {
    auto job = std::make_shared<NodeJob>();
    job->node = "n1";
    job->job = id;
    job->uid = geteuid() == 0 ? uid : geteuid();
    job->gid = geteuid() == 0 ? uid : getegid();
    jobs_.push_back({job, request});
  }
  void Remove(std::int64_t id) {
    jobs_.erase(
        std::remove_if(jobs_.begin(), jobs_.end(), [&](const Job& one) { return one.job->job == id; }),
        jobs_.end());
  }
  void Open(std::size_t most_helpers, std::int64_t turn_ns = 50 * kMs,
            absl::Duration timeout = absl::Seconds(20), std::size_t most_starting = 64) {
    JobWatches::Options options;
    options.stop_fd = stop_fd_;
    options.limits = {most_helpers, 1000};
    options.turn_ns = turn_ns;
    options.timeout = timeout;
    options.most_starting = most_starting;
    watches_ = std::make_unique<JobWatches>(options);
  }
  bool Serve(std::int64_t ns) {
    watches_->Follow(
        "test", jobs_,
        [&](const Job& one) {
          return std::make_unique<Asker>(one.request, 10 * kMs, stories_[one.job->job], helper_arguments_);
        },
        [](JobWatcher&, const Job&) {});
    return watches_->Serve(kSystemClock.mono_ns() + ns);
  }
  // Until it is so: a busy machine takes its time.
  template <typename Condition>
  bool ServeUntil(const Condition& is_so) {
    const std::int64_t late = kSystemClock.mono_ns() + 30'000 * kMs;
    while (!is_so() && kSystemClock.mono_ns() < late) Serve(20 * kMs);
    return is_so();
  }
  void Stop() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(stop_fd_, &one, sizeof(one)), sizeof(one));
  }

  int stop_fd_ = eventfd(0, EFD_CLOEXEC);
  std::vector<Job> jobs_;
  std::map<std::int64_t, Story> stories_;
  std::vector<std::string> helper_arguments_;
  std::unique_ptr<JobWatches> watches_;
};

TEST_F(JobWatchesTest, AFullNodeDoesNotStartAllHelpersAtOnce) {
  const TempFolder starts;
  const TempFolder reports;
  for (const TempFolder* folder : {&starts, &reports}) ASSERT_EQ(chmod(folder->path().c_str(), 0777), 0);
  helper_arguments_ = {starts.path(), reports.path() + "/counts"};
  Open(16, 50 * kMs, absl::Seconds(20), 3);
  for (int id = 1; id <= 16; ++id) Add(id, 1000);
  ASSERT_TRUE(ServeUntil([&] {
    return std::all_of(jobs_.begin(), jobs_.end(),
                       [&](const Job& one) { return stories_[one.job->job].answers > 0; });
  }));
  std::ifstream counts(helper_arguments_[1]);
  std::vector<int> at_once{std::istream_iterator<int>(counts), {}};
  EXPECT_GE(at_once.size(), 16U);
  EXPECT_LE(*std::max_element(at_once.begin(), at_once.end()), 3);
}

TEST_F(JobWatchesTest, EachJobIsAskedAboutUntilItHasEndedAndLookedOnceMore) {
  Open(4);
  Add(1, 1000);
  Add(2, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 2 && stories_[2].answers > 2; }));
  EXPECT_EQ(watches_->Counts().jobs, 2U);
  EXPECT_EQ(watches_->Counts().helpers, 2U);
  Remove(1);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].destroyed; }));
  EXPECT_TRUE(stories_[1].job_ended);
  EXPECT_FALSE(stories_[2].job_ended);
  EXPECT_EQ(stories_[1].started, 1);
  EXPECT_EQ(watches_->Counts().helpers, 1U);
}

TEST_F(JobWatchesTest, OneThatHangsDelaysNoOther) {
  // A sanitized helper may take half a second to start.
  Open(4, 50 * kMs, absl::Seconds(2));
  Add(1, 1000, "hang");
  Add(2, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].failures > 0; }));
  EXPECT_GT(stories_[2].answers, 3);
  EXPECT_EQ(stories_[2].failures, 0);
}

TEST_F(JobWatchesTest, MoreJobsThanHelpersAreServedInTurn) {
  Open(3);
  for (std::int64_t id = 1; id <= 20; ++id) Add(id, 1000);
  ASSERT_TRUE(ServeUntil([&] {
    return stories_.size() == 20 && std::all_of(stories_.begin(), stories_.end(),
                                                [](const auto& one) { return one.second.answers > 1; });
  }));
  EXPECT_EQ(stories_.size(), 20U);
  EXPECT_LE(watches_->Counts().helpers, 3U);
  EXPECT_TRUE(
      std::any_of(stories_.begin(), stories_.end(), [](const auto& one) { return one.second.gone > 0; }));
}

TEST_F(JobWatchesTest, AHelperIsTakenOnlyAfterItsTurn) {
  Open(1, 60'000 * kMs);
  Add(1, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 0; }));
  Add(2, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 20; }));
  EXPECT_EQ(stories_[1].gone, 0);
  EXPECT_EQ(stories_[2].started, 0);
  // The wait is reported once, and then anew.
  Serve(1'200 * kMs);
  const std::uint64_t waited = watches_->Counts().waiting_s;
  EXPECT_GE(waited, 1U);
  EXPECT_LT(waited, 31U) << "since the job was added, not since the machine started";
  EXPECT_EQ(watches_->Counts().waiting_s, 0U);
}

TEST_F(JobWatchesTest, WhatFollowsOtherJobsEndsNone) {
  Open(4);
  Add(1, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 0; }));
  watches_->Follow(
      "another", std::vector<Job>(), [&](const Job&) { return std::unique_ptr<JobWatcher>(); },
      [](JobWatcher&, const Job&) {});
  EXPECT_FALSE(stories_[1].job_ended);
}

TEST_F(JobWatchesTest, AUserWithManyJobsKeepsAnotherFromNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  // Nobody has had a turn for as long as this test takes: only the share of a user counts.
  Open(3, 1);
  for (std::int64_t id = 1; id <= 30; ++id) Add(id, 2000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[30].started > 0; }));
  Add(100, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[100].answers > 20; }));
  EXPECT_EQ(stories_[100].gone, 0) << "the other user has more helpers";
  EXPECT_EQ(stories_[100].started, 1);
}

TEST_F(JobWatchesTest, AUserWhoseHelpersAllHangKeepsAnotherFromNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  // On a busy machine the other user's helper, too, may take more than a second to answer.
  Open(3, 50 * kMs, absl::Seconds(4));
  for (std::int64_t id = 1; id <= 30; ++id) Add(id, 2000, "hang");
  const auto one_failed = [&] {
    return std::any_of(stories_.begin(), stories_.end(),
                       [](const auto& of) { return of.second.failures > 0; });
  };
  ASSERT_TRUE(ServeUntil(one_failed));
  Add(100, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[100].answers > 20; }));
  EXPECT_EQ(stories_[100].failures, 0);
}

TEST_F(JobWatchesTest, ADaemonThatStopsLetsThemFinish) {
  Open(4);
  Add(1, 1000);
  Add(2, 1000, "hang");
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 0; }));
  Stop();
  const std::int64_t before = kSystemClock.mono_ns();
  EXPECT_FALSE(Serve(60'000 * kMs));
  EXPECT_LT(kSystemClock.mono_ns() - before, 10'000 * kMs);
  EXPECT_TRUE(stories_[1].stopped);
  EXPECT_TRUE(stories_[1].destroyed);
  EXPECT_TRUE(stories_[2].stopped);
}

TEST_F(JobWatchesTest, AnotherAttemptOfAJobIsAnotherJob) {
  Open(4);
  Add(1, 1000);
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].answers > 0; }));
  auto next = std::make_shared<NodeJob>(*jobs_[0].job);
  next->since_ns = 7;
  jobs_[0].job = next;
  const int before = stories_[1].started;
  ASSERT_TRUE(ServeUntil([&] { return stories_[1].destroyed; }));
  EXPECT_EQ(stories_[1].started, before + 1);
}

TEST(HelperLimits, AreWhatTheLimitsLeave) {
  constexpr std::int64_t kMiB = 1 << 20U;
  EXPECT_EQ(HelperLimitsOf({}).count, 64U);
  EXPECT_EQ(HelperLimitsOf({}).bytes, 512 * kMiB);
  EXPECT_EQ(HelperLimitsOf({64, std::nullopt}).count, 40U);
  EXPECT_EQ(HelperLimitsOf({1000, 192 * kMiB}).bytes, 128 * kMiB);
  EXPECT_EQ(HelperLimitsOf({10, 1}).count, 4U) << "it tries with a few";
  EXPECT_EQ(HelperLimitsOf({10, 1}).bytes, 48 * kMiB);
}

TEST_F(JobWatchesTest, HelpersNeedNoMoreMemoryThanThereIs) {
  JobWatches::Options options;
  options.stop_fd = stop_fd_;
  options.limits = {100, 2};
  options.turn_ns = 50 * kMs;
  watches_ = std::make_unique<JobWatches>(options);
  for (std::int64_t id = 1; id <= 6; ++id) Add(id, 1000);
  std::uint64_t most = 0;
  ASSERT_TRUE(ServeUntil([&] {
    most = std::max(most, watches_->Counts().helpers);
    return stories_.size() == 6 && std::all_of(stories_.begin(), stories_.end(),
                                               [](const auto& one) { return one.second.answers > 1; });
  }));
  EXPECT_EQ(most, 2U);
}

class CgroupLimitsTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(folder_.path() + path).parent_path());
    std::ofstream(folder_.path() + path) << text;
  }
  CgroupLimits Read() const { return ReadCgroupLimits(folder_.path() + "/self", folder_.path() + "/cgroup"); }
  TempFolder folder_;
};

TEST_F(CgroupLimitsTest, TheStrictestOfAllGroupsAboveHolds) {
  Put("/self", "0::/system.slice/goodputd.service\n");
  Put("/cgroup/system.slice/goodputd.service/pids.max", "64\n");
  Put("/cgroup/system.slice/pids.max", "max\n");
  Put("/cgroup/system.slice/goodputd.service/memory.max", "536870912\n");
  Put("/cgroup/system.slice/goodputd.service/memory.high", "201326592\n");
  Put("/cgroup/system.slice/memory.max", "100000000\n");
  EXPECT_EQ(Read().tasks, 64);
  EXPECT_EQ(Read().memory_bytes, 100'000'000);
}

TEST_F(CgroupLimitsTest, AreFoundInVersionOne) {
  Put("/self", "8:pids:/system.slice\n4:memory:/system.slice\n1:name=systemd:/init.scope\n");
  Put("/cgroup/pids/system.slice/pids.max", "99\n");
  Put("/cgroup/memory/system.slice/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().tasks, 99);
  EXPECT_EQ(Read().memory_bytes, std::nullopt) << "as much as there is";
}

TEST_F(CgroupLimitsTest, NothingIsKnownWhereNothingCanBeRead) {
  EXPECT_EQ(Read().tasks, std::nullopt);
  Put("/self", "nonsense\n0::relative\n\n");
  EXPECT_EQ(Read().memory_bytes, std::nullopt);
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  if (const auto code = goodput::RunHelper(argc, argv, {{"echo", goodput::EchoHelper}})) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
