#include "tools/reader/work_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "spank/clock.h"

namespace goodput {

WorkQueue::WorkQueue(std::size_t threads, std::size_t most, absl::Duration patience)
    : most_(most),
      most_of_asker_(std::max<std::size_t>(1, threads - 1)),
      patience_ns_(absl::ToInt64Nanoseconds(patience)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  threads_.emplace_back([this] { RejectLate(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (const Waiting& waiting : waiting_) waiting.work(false);
}

WorkQueue::List::iterator WorkQueue::LatestOfGreediest() {
  std::map<std::string, std::size_t> waiting;
  for (const Waiting& one : waiting_) ++waiting[one.asker];
  auto latest = waiting_.end();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (latest == waiting_.end() || waiting[at->asker] >= waiting[latest->asker]) latest = at;
  }
  return latest;
}

void WorkQueue::Add(const std::string& asker, Work work) {
  List rejected;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back({asker, std::move(work), kSystemClock.mono_ns()});
    if (waiting_.size() > most_) rejected.splice(rejected.end(), waiting_, LatestOfGreediest());
  }
  changed_.notify_all();
  for (const Waiting& one : rejected) one.work(false);
}

WorkQueue::List::iterator WorkQueue::Next() {
  auto next = waiting_.end();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (doing_[at->asker] >= most_of_asker_) continue;
    if (next == waiting_.end() || doing_[at->asker] < doing_[next->asker]) next = at;
  }
  return next;
}

void WorkQueue::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    auto next = waiting_.end();
    changed_.wait(lock, [&] { return stop_ || (next = Next()) != waiting_.end(); });
    if (stop_) return;
    List taken;
    taken.splice(taken.end(), waiting_, next);
    const Waiting& now = taken.front();
    ++doing_[now.asker];
    lock.unlock();
    now.work(kSystemClock.mono_ns() - now.since_ns <= patience_ns_);
    lock.lock();
    if (--doing_[now.asker] == 0) doing_.erase(now.asker);
    changed_.notify_all();
  }
}

void WorkQueue::RejectLate() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    List late;
    const std::int64_t now = kSystemClock.mono_ns();
    while (!waiting_.empty() && now - waiting_.front().since_ns > patience_ns_)
      late.splice(late.end(), waiting_, waiting_.begin());
    if (!late.empty()) {
      lock.unlock();
      for (const Waiting& one : late) one.work(false);
      lock.lock();
      continue;
    }
    if (waiting_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(waiting_.front().since_ns + patience_ns_ + 1 - now));
    }
  }
}

}  // namespace goodput
