// A few threads that do queued work in order; work that would wait too long is rejected.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace goodput {

class WorkQueue {
 public:
  // `in_time`: false if it waited for longer than `patience`, or found `most` others waiting.
  using Work = std::function<void(bool in_time)>;
  WorkQueue(std::size_t threads, std::size_t most, absl::Duration patience);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void Add(Work work);

 private:
  void Run();

  struct Waiting {
    Work work;
    std::int64_t since_ns = 0;
  };
  const std::size_t most_;
  const std::int64_t patience_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // guarded by mutex_
  bool stop_ = false;            // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace goodput
