// The state of `sgoodput events watch` in its file, and the threads that deliver what waits: one for each
// target, so that one that hangs does not delay the other, nor the search for events.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/sgoodput/events_deliver.h"
#include "tools/sgoodput/events_state.h"

namespace goodput {

class EventsQueue {
 public:
  using Deliverer = std::function<Delivered(const WaitingEvent&)>;

  EventsQueue(std::string file, std::vector<EventTarget> targets, EventsState state, Deliverer deliver);
  EventsQueue(const EventsQueue&) = delete;
  EventsQueue& operator=(const EventsQueue&) = delete;

  EventsState State();
  // Replaces what is known of runs and nodes by `found`, which came from State(), adds what it found to the
  // deliveries, drops what is too old or what goodput.conf no longer asks for, and writes the file.
  absl::Status Put(EventsState found, Ns now);
  // Starts to deliver what is due to each target to which nothing is delivered at this moment. An error: of
  // what was started earlier.
  absl::Status Start();
  // Waits for all deliveries.
  absl::Status Finish();

 private:
  absl::Status DeliverTo(EventTarget target);
  absl::Status ResultOf(EventTarget target);
  WaitingEvent* Due(EventTarget target);
  void Note(const WaitingEvent& event, const Delivered& result);
  void DropUnwanted();
  absl::Status Save();

  const std::string file_;
  const std::vector<EventTarget> targets_;
  const Deliverer deliver_;
  std::mutex mutex_;  // of what follows
  EventsState state_;
  std::map<EventTarget, std::string> in_flight_;  // ids of events
  // Last, since these threads use the others until they end.
  std::map<EventTarget, std::future<absl::Status>> deliveries_;
};

}  // namespace goodput
