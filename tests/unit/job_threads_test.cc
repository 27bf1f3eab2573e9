#include "tools/goodputd/job_threads.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace goodput {
namespace {

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max() / 2;

struct Stop {
  ~Stop() { close(fd); }
  void Now() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
  }
  int fd = eventfd(0, EFD_CLOEXEC);
};

struct Job {
  std::shared_ptr<const NodeJob> job;
};

Job JobOf(std::int64_t id, std::int64_t since_ns = 1) {
  auto job = std::make_shared<NodeJob>();
  job->node = "n1";
  job->job = id;
  job->since_ns = since_ns;
  return {job};
}

// Records why it was woken, and whether it is alive.
class Sleeper {
 public:
  Sleeper(int stop_fd, std::atomic<int>& alive) : alive_(alive), thread_(stop_fd) {
    ++alive_;
    thread_.Begin([this] { woken_ = thread_.Wait(kForEver); });
  }
  ~Sleeper() { --alive_; }
  static void Update(const Job& /*job*/) {}
  void End() const { thread_.End(); }
  bool done() const { return thread_.done(); }
  void WaitUntilDone() const {
    while (!done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  JobThread::Woken woken() const { return woken_; }

 private:
  std::atomic<int>& alive_;
  std::atomic<JobThread::Woken> woken_{JobThread::Woken::kTimeIsOver};
  JobThread thread_;
};

TEST(JobThread, SaysWhatEndedAWait) {
  const Stop stop;
  std::atomic<int> alive{0};
  Sleeper over(stop.fd, alive);
  over.End();
  over.WaitUntilDone();
  EXPECT_EQ(over.woken(), JobThread::Woken::kJobIsOver);

  Sleeper stopped(stop.fd, alive);
  EXPECT_FALSE(stopped.done());
  stop.Now();
  stopped.WaitUntilDone();
  EXPECT_EQ(stopped.woken(), JobThread::Woken::kDaemonStops);
}

TEST(JobThread, ADaemonThatStopsIsSaidFirst) {
  const Stop stop;
  const JobThread thread(stop.fd);
  EXPECT_EQ(thread.Wait(0), JobThread::Woken::kTimeIsOver);
  EXPECT_EQ(thread.Wait(-1), JobThread::Woken::kTimeIsOver);
  thread.End();
  EXPECT_EQ(thread.Wait(0), JobThread::Woken::kJobIsOver);
  stop.Now();
  EXPECT_EQ(thread.Wait(0), JobThread::Woken::kDaemonStops);
}

TEST(JobWatchers, EachJobHasOneUntilItIsGoneAndDone) {
  const Stop stop;
  std::atomic<int> alive{0};
  std::vector<std::int64_t> made;
  const Sleeper* last = nullptr;
  const auto make = [&](const Job& job) {
    made.push_back(job.job->job);
    auto sleeper = std::make_unique<Sleeper>(stop.fd, alive);
    last = sleeper.get();
    return sleeper;
  };
  JobWatchers<Sleeper> watchers(2);
  watchers.Follow(std::vector<Job>{JobOf(1)}, make);
  watchers.Follow(std::vector<Job>{JobOf(1)}, make);
  EXPECT_EQ(made, std::vector<std::int64_t>({1}));
  const Sleeper* const first = last;

  // There is no room for a third.
  watchers.Follow(std::vector<Job>{JobOf(1), JobOf(2), JobOf(3)}, make);
  EXPECT_EQ(made, std::vector<std::int64_t>({1, 2}));
  EXPECT_EQ(alive, 2);

  // A job that has gone is told to end, and makes room when it is done.
  watchers.Follow(std::vector<Job>{JobOf(2)}, make);
  if (alive == 2) first->WaitUntilDone();
  watchers.Follow(std::vector<Job>{JobOf(2)}, make);
  EXPECT_EQ(alive, 1);

  // The same job with a new start is another attempt.
  watchers.Follow(std::vector<Job>{JobOf(2), JobOf(2, 7)}, make);
  EXPECT_EQ(made, std::vector<std::int64_t>({1, 2, 2}));
}

}  // namespace
}  // namespace goodput
