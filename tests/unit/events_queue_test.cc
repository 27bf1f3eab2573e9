// Deliveries of events: one target does not delay the other, servers are left alone as they ask, and what
// was told wrong is corrected.
#include "tools/sgoodput/events_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

const std::vector<EventTarget> kBoth{EventTarget::kProgram, EventTarget::kUrl};

Event InterruptionBy(const std::string& cause, Ns now) {
  Event event;
  event.kind = EventKind::kInterruption;
  event.id = "interruption/c/8@10/1";
  event.time = now - 100 * kSecond;
  event.cause = cause;
  event.text = Cat("run llm was interrupted: ", cause);
  return event;
}

EventsState Began(Ns now) {
  EventsState state;
  state.began = now - 3600 * kSecond;
  return state;
}

class EventsQueueTest : public testing::Test {
 protected:
  // As a pass of the watch that finds this.
  void Find(EventsQueue& queue, const Event& event) const {
    EventsState state = queue.State();
    state.TakeInterruption(event, now_);
    ASSERT_TRUE(queue.Put(std::move(state), now_).ok());
    ASSERT_TRUE(queue.Start().ok());
  }
  static bool Sends(EventsQueue& queue, EventTarget target, std::int64_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (queue.State().targets[target].sent < count && absl::Now() < deadline) {
      EXPECT_TRUE(queue.Start().ok());
      absl::SleepFor(absl::Milliseconds(2));
    }
    return queue.State().targets[target].sent == count;
  }

  const TempFolder folder_;
  const std::string file_ = folder_.path() + "/events.state";
  const Ns now_ = absl::GetCurrentTimeNanos();
};

TEST_F(EventsQueueTest, ATargetThatHangsDelaysNoOther) {
  std::promise<void> over;
  const std::shared_future<void> hangs = over.get_future().share();
  EventsQueue queue(file_, kBoth, Began(now_), [&](const WaitingEvent& event) {
    if (event.target == EventTarget::kProgram) hangs.wait();
    return Delivered{absl::OkStatus(), std::nullopt};
  });
  Event event = InterruptionBy("failed", now_);
  Find(queue, event);
  EXPECT_TRUE(Sends(queue, EventTarget::kUrl, 1));
  event.id = "interruption/c/9@10/1";
  Find(queue, event);
  EXPECT_TRUE(Sends(queue, EventTarget::kUrl, 2));
  EXPECT_EQ(queue.State().targets[EventTarget::kProgram].sent, 0);
  over.set_value();
  EXPECT_TRUE(Sends(queue, EventTarget::kProgram, 2));
  EXPECT_TRUE(queue.Finish().ok());
  EXPECT_EQ((*LoadEventsState(file_))->waiting.size(), 0U) << "it is written";
}

TEST_F(EventsQueueTest, AServerIsLeftAloneAsLongAsItAsks) {
  int asked = 0;
  EventsQueue queue(file_, {EventTarget::kUrl}, Began(now_), [&](const WaitingEvent&) {
    ++asked;
    return Delivered{absl::UnavailableError("the server answered 429"), 600 * kSecond};
  });
  Event event = InterruptionBy("failed", now_);
  for (const char* const id : {"a", "b", "c"}) {
    event.id = id;
    Find(queue, event);
    ASSERT_TRUE(queue.Finish().ok());
  }
  EXPECT_EQ(asked, 1) << "another event is not tried either";
  const EventsState state = **LoadEventsState(file_);
  const Ns until = state.targets.at(EventTarget::kUrl).not_before;
  EXPECT_GE(until, now_ + 600 * kSecond);
  EXPECT_LE(until, absl::GetCurrentTimeNanos() + 600 * kSecond);
  EXPECT_EQ(state.waiting.at(0).next, until);
  EXPECT_EQ(EventPause(0), 30 * kSecond);
  EXPECT_EQ(EventPause(86'400 * kSecond), 3600 * kSecond);
}

TEST_F(EventsQueueTest, WhatWasToldWrongIsCorrectedOnce) {
  std::vector<std::pair<std::string, std::string>> sent;
  const auto send = [&](const WaitingEvent& event) {
    sent.emplace_back(event.id, event.json);
    return Delivered{absl::OkStatus(), std::nullopt};
  };
  {
    EventsQueue queue(file_, {EventTarget::kUrl}, Began(now_), send);
    Find(queue, InterruptionBy("failed", now_));
    ASSERT_TRUE(queue.Finish().ok());
  }
  // After a restart.
  EventsQueue queue(file_, {EventTarget::kUrl}, **LoadEventsState(file_), send);
  Event late = InterruptionBy("node_fail", now_);
  late.node = "n1";
  for (int pass = 0; pass < 2; ++pass) {
    Find(queue, late);
    ASSERT_TRUE(queue.Finish().ok());
  }
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].first, "interruption/c/8@10/1/correction/1");
  EXPECT_NE(sent[1].second.find("\"corrects\":\"interruption/c/8@10/1\""), std::string::npos)
      << sent[1].second;
  EXPECT_NE(sent[1].second.find("\"cause\":\"node_fail\""), std::string::npos);
  EXPECT_NE(sent[1].second.find("; before: failed\""), std::string::npos) << sent[1].second;
}

TEST_F(EventsQueueTest, ATargetThatHasNotTakenItGetsItRight) {
  bool works = false;
  std::vector<std::string> sent;
  EventsQueue queue(file_, {EventTarget::kUrl}, Began(now_), [&](const WaitingEvent& event) {
    if (!works) return Delivered{absl::UnavailableError("no answer"), std::nullopt};
    sent.push_back(event.json);
    return Delivered{absl::OkStatus(), std::nullopt};
  });
  Find(queue, InterruptionBy("failed", now_));
  ASSERT_TRUE(queue.Finish().ok());
  works = true;
  Find(queue, InterruptionBy("oom", now_));
  ASSERT_TRUE(queue.Finish().ok());
  const EventsState state = queue.State();
  ASSERT_EQ(state.waiting.size(), 1U) << "no correction is needed";
  EXPECT_NE(state.waiting[0].json.find("\"cause\":\"oom\""), std::string::npos);
  EXPECT_TRUE(sent.empty()) << "it is not due";
}

TEST_F(EventsQueueTest, ACorrectionFollowsWhatItCorrects) {
  EventsState state = Began(now_);
  state.TakeInterruption(InterruptionBy("failed", now_), now_);
  state.Queue({EventTarget::kUrl}, now_, {});
  state.TakeInterruption(InterruptionBy("oom", now_), now_);
  state.Queue({EventTarget::kUrl}, now_, {{EventTarget::kUrl, state.waiting.at(0).id}});
  ASSERT_EQ(state.waiting.size(), 2U) << "the first is being delivered as it was";
  EXPECT_FALSE(state.WaitsForAnother(state.waiting[0]));
  EXPECT_TRUE(state.WaitsForAnother(state.waiting[1]));
  state.waiting.erase(state.waiting.begin());
  EXPECT_FALSE(state.WaitsForAnother(state.waiting[0]));
}

TEST_F(EventsQueueTest, OfWhatNobodyWasToldNothingIsCorrected) {
  EventsState state;  // the first pass
  state.TakeInterruption(InterruptionBy("failed", now_), now_);
  state.began = now_;
  state.TakeInterruption(InterruptionBy("oom", now_), now_);
  EXPECT_TRUE(state.fresh.empty());
}

}  // namespace
}  // namespace goodput
