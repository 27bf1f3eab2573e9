#include "tools/sgoodput/events_queue.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/replace_file.h"

namespace goodput {
namespace {

// A target that does not work costs a pass at most so many tries.
constexpr int kFailuresInPass = 3;

}  // namespace

EventsQueue::EventsQueue(std::string file, std::vector<EventTarget> targets, EventsState state,
                         Deliverer deliver)
    : file_(std::move(file)),
      targets_(std::move(targets)),
      deliver_(std::move(deliver)),
      state_(std::move(state)) {}

EventsState EventsQueue::State() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

absl::Status EventsQueue::Put(EventsState found, Ns now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Meanwhile targets took some of what waited.
  found.waiting = std::move(state_.waiting);
  found.targets = std::move(state_.targets);
  state_ = std::move(found);
  state_.Queue(targets_, now, in_flight_);
  state_.Forget(now);
  DropUnwanted();
  return Save();
}

absl::Status EventsQueue::Start() {
  for (const EventTarget target : targets_) {
    std::future<absl::Status>& round = deliveries_[target];
    if (round.valid() && round.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
    RETURN_IF_ERROR(ResultOf(target));
    try {
      round = std::async(std::launch::async, [this, target] { return DeliverTo(target); });
    } catch (const std::system_error& problem) {
      return absl::ResourceExhaustedError(Cat("cannot start a thread to deliver events: ", problem.what()));
    }
  }
  return absl::OkStatus();
}

absl::Status EventsQueue::Finish() {
  for (const EventTarget target : targets_) RETURN_IF_ERROR(ResultOf(target));
  return absl::OkStatus();
}

absl::Status EventsQueue::ResultOf(EventTarget target) {
  std::future<absl::Status>& round = deliveries_[target];
  return round.valid() ? round.get() : absl::OkStatus();
}

absl::Status EventsQueue::DeliverTo(EventTarget target) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int failures = 0; failures < kFailuresInPass;) {
    const WaitingEvent* const due = Due(target);
    if (due == nullptr) break;
    const WaitingEvent event = *due;
    in_flight_[target] = event.id;
    lock.unlock();
    const Delivered result = deliver_(event);
    lock.lock();
    in_flight_.erase(target);
    Note(event, result);
    if (!result.status.ok()) ++failures;
    RETURN_IF_ERROR(Save());
  }
  return absl::OkStatus();
}

WaitingEvent* EventsQueue::Due(EventTarget target) {
  const Ns now = absl::GetCurrentTimeNanos();
  if (state_.targets[target].not_before > now) return nullptr;
  const auto due = std::find_if(state_.waiting.begin(), state_.waiting.end(), [&](const WaitingEvent& one) {
    return one.target == target && one.next <= now && !state_.WaitsForAnother(one);
  });
  return due == state_.waiting.end() ? nullptr : &*due;
}

// A problem is said once, until it is over.
void EventsQueue::Note(const WaitingEvent& event, const Delivered& result) {
  TargetState& of = state_.targets[event.target];
  const std::string problem = Message(result.status);
  if (!problem.empty() && of.problem != problem)
    std::fprintf(stderr, "sgoodput: events: %s: %s\n", std::string(EventTargetName(event.target)).c_str(),
                 Printable(problem).c_str());
  of.problem = problem;
  const auto found = std::find_if(state_.waiting.begin(), state_.waiting.end(), [&](const WaitingEvent& one) {
    return one.target == event.target && one.id == event.id;
  });
  const Ns now = absl::GetCurrentTimeNanos();
  if (result.status.ok()) {
    of.done = now;
    ++of.sent;
    of.not_before = 0;
    if (found != state_.waiting.end()) state_.waiting.erase(found);
    return;
  }
  if (result.retry_after) of.not_before = now + EventPause(*result.retry_after);
  if (found == state_.waiting.end()) return;
  ++found->tries;
  found->next = result.retry_after ? of.not_before : now + EventBackOff(found->tries);
}

void EventsQueue::DropUnwanted() {
  auto& waiting = state_.waiting;
  const auto unwanted = [&](const WaitingEvent& one) {
    const bool wanted = std::find(targets_.begin(), targets_.end(), one.target) != targets_.end();
    if (!wanted) ++state_.targets[one.target].dropped;
    return !wanted;
  };
  waiting.erase(std::remove_if(waiting.begin(), waiting.end(), unwanted), waiting.end());
}

absl::Status EventsQueue::Save() {
  return ReplaceFile(file_, FormatEventsState(state_));
}

}  // namespace goodput
