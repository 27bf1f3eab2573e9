#include "tools/reader/work_queue.h"

#include <utility>

#include "spank/clock.h"

namespace goodput {

WorkQueue::WorkQueue(std::size_t threads, std::size_t most, absl::Duration patience)
    : most_(most), patience_ns_(absl::ToInt64Nanoseconds(patience)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkQueue::Add(Work work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.size() < most_) {
      waiting_.push_back({std::move(work), kSystemClock.mono_ns()});
      changed_.notify_one();
      return;
    }
  }
  work(false);
}

void WorkQueue::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const bool stop = stop_;
    lock.unlock();
    next.work(!stop && kSystemClock.mono_ns() - next.since_ns <= patience_ns_);
    lock.lock();
  }
}

}  // namespace goodput
