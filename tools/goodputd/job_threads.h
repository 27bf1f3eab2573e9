// One thread per watched job of this node: it starts when the job is first seen, is told when the job's tasks
// are gone, and is removed once it has finished its work. A thread that hangs does not delay others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "tools/goodputd/node_jobs.h"

namespace goodput {

// Declare it as the last member of its owner: its destructor waits for the thread, which uses the other
// members.
class JobThread {
 public:
  enum class Woken : std::uint8_t { kTimeIsOver, kJobIsOver, kDaemonStops };

  // `stop_fd` becomes readable when the daemon stops.
  explicit JobThread(int stop_fd);
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  void Begin(std::function<void()> work);
  // Tells the thread that the job's tasks are gone.
  void End() const;
  bool done() const { return done_; }

  // For the thread itself. Negative or 0: does not wait.
  Woken Wait(std::int64_t ns) const;

 private:
  const int stop_fd_;
  const int over_fd_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// A Watcher has End() and done(), like JobThread, and Update() with the current information about its job.
template <typename Watcher>
class JobWatchers {
 public:
  explicit JobWatchers(std::size_t most) : most_(most) {}

  // `jobs`: the current jobs, each with its NodeJob as `job`. A job without a watcher gets one from `make`,
  // up to a maximum number.
  template <typename Jobs, typename Make>
  void Follow(const Jobs& jobs, const Make& make) {
    std::set<Key> live;
    for (const auto& one : jobs) {
      const Key key{one.job->node, one.job->job, one.job->since_ns};
      live.insert(key);
      const auto watcher = watchers_.find(key);
      if (watcher != watchers_.end()) {
        watcher->second->Update(one);
      } else if (watchers_.size() < most_) {
        watchers_[key] = make(one);
      }
    }
    for (auto at = watchers_.begin(); at != watchers_.end();) {
      if (live.count(at->first) == 0) at->second->End();
      at = at->second->done() ? watchers_.erase(at) : std::next(at);
    }
  }

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  // node, job, since
  const std::size_t most_;
  std::map<Key, std::unique_ptr<Watcher>> watchers_;
};

}  // namespace goodput
