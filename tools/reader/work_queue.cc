#include "tools/reader/work_queue.h"

#include <algorithm>
#include <chrono>
#include <iterator>
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
    if (Turn(at->asker).first >= most_of_asker_) continue;
    if (next == waiting_.end() || Turn(at->asker) < Turn(next->asker)) next = at;
  }
  return next;
}

std::pair<std::size_t, std::int64_t> WorkQueue::Turn(const std::string& asker) const {
  const auto doing = doing_.find(asker);
  const auto turn = turn_ns_.find(asker);
  return {doing == doing_.end() ? 0 : doing->second, turn == turn_ns_.end() ? 0 : turn->second};
}

// What is older orders nobody: who waits since then is rejected.
void WorkQueue::ForgetOldTurns(std::int64_t now_ns) {
  for (auto at = turn_ns_.begin(); at != turn_ns_.end();) {
    at = now_ns - at->second > patience_ns_ ? turn_ns_.erase(at) : std::next(at);
  }
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
    const std::int64_t now_ns = kSystemClock.mono_ns();
    ForgetOldTurns(now_ns);
    turn_ns_[now.asker] = now_ns;
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
