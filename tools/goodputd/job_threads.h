// A thread for each job of this node that is looked after: it begins when the job is seen, is told when the
// job's tasks are gone, and is forgotten once it is done with what they left. One that hangs holds up nobody.
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

// The last member of whoever has it: it is waited for before what it works with is gone.
class JobThread {
 public:
  enum class Woken : std::uint8_t { kTimeIsOver, kJobIsOver, kDaemonStops };

  // `stop_fd` becomes readable when the daemon stops.
  explicit JobThread(int stop_fd);
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  void Begin(std::function<void()> work);
  // The job's tasks are gone.
  void End() const;
  bool done() const { return done_; }

  // For the thread itself. Negative or 0: looks only.
  Woken Wait(std::int64_t ns) const;

 private:
  const int stop_fd_;
  const int over_fd_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// A Watcher has End() and done(), as a JobThread has, and Update() with what is known of its job now.
template <typename Watcher>
class JobWatchers {
 public:
  explicit JobWatchers(std::size_t most) : most_(most) {}

  // `jobs`: those there are now, each with its NodeJob as `job`. One that has no watcher gets what `make`
  // makes of it, while there are not too many.
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
