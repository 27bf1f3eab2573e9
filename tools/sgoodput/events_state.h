// What `sgoodput events watch` knows and still has to deliver, in a small text file beside the database.
//
// Pure but for LoadEventsState. Without the file, the next pass is a first one: it notes what already is, and
// sends nothing of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/accounting/live/events.h"
#include "tools/base/config.h"

namespace goodput {

// Events and deliveries are dropped after this time.
inline constexpr Ns kEventLife = 86'400 * kSecond;
// More deliveries do not wait; an event beyond is dropped.
inline constexpr std::size_t kMostWaitingEvents = 1000;

enum class EventTarget : std::uint8_t { kProgram, kUrl };
std::string_view EventTargetName(EventTarget target);  // "event_program"
// Those that goodput.conf has.
std::vector<EventTarget> EventTargets(const Config& config);

// An event that a target has not taken so far.
struct WaitingEvent {
  EventTarget target = EventTarget::kProgram;
  Ns queued = 0;
  Ns next = 0;  // not tried before
  int tries = 0;
  std::string id;
  std::vector<std::pair<std::string, std::string>> env;  // for a program
  std::string json;
};

// How a target answered.
struct TargetState {
  Ns done = 0;               // when it last took an event; 0: never
  std::int64_t sent = 0;     // events that it took
  std::int64_t dropped = 0;  // not taken within a day, no room, or goodput.conf no longer names it
  Ns not_before = 0;         // its server asked not to be tried before
  std::string problem;       // of the last try, in one line; empty: none
};

struct EventsState {
  Ns began = 0;         // the first pass; 0: there was none
  Ns looked = 0;        // the last pass that could read the database
  Ns judged = 0;        // when nodes were last judged
  std::string problem;  // of the last pass: why the database was not read; empty: it was
  std::map<EventTarget, TargetState> targets;
  std::map<std::string, Ns> known;               // ids of events that need no more work, and their times
  std::map<std::string, ToldStall> open;         // stalls without an end, by id
  std::map<std::string, Ns> suspects;            // nodes that fail too often, "CLUSTER/NODE", and since when
  std::map<std::string, ToldInterruption> told;  // interruptions that were told of, by id
  std::vector<WaitingEvent> waiting;             // in the order of the events

  // What Take() and TakeInterruption() found, until Queue(); not in the file.
  struct Fresh {
    Event event;
    std::optional<Event> right;  // of a correction: the interruption as it is known now
  };
  std::vector<Fresh> fresh;

  // Notes the event and, after the first pass, adds it to `fresh`. An event that is known already, or older
  // than a day, is not added.
  bool Take(const Event& event, Ns now);
  // The same for an interruption. If it was told of, but differently, adds a correction.
  void TakeInterruption(const Event& event, Ns now);
  // Adds `fresh` to the deliveries. A target that has not taken an interruption so far gets it right instead
  // of a correction, unless it is being delivered at this moment. `in_flight`: ids of these.
  void Queue(const std::vector<EventTarget>& to, Ns now, const std::map<EventTarget, std::string>& in_flight);
  // A correction whose interruption still waits for the same target.
  bool WaitsForAnother(const WaitingEvent& one) const;
  // Removes what is too old to matter.
  void Forget(Ns now);
};

// When to try again after so many failures: 30 s, doubled each time, at most an hour.
Ns EventBackOff(int tries);
// How long a server is left alone that asks to wait: between 30 s and an hour.
Ns EventPause(Ns asked);

// The facts of an event as a program's environment: printable, so that no text of a job can end a line or
// control a terminal. The exact text is in the JSON.
std::vector<std::pair<std::string, std::string>> EventEnvironment(const Event& event);

// Beside the database.
std::string EventsStateFile(const std::string& database);
std::string FormatEventsState(const EventsState& state);
// DataLoss: a line is damaged.
absl::StatusOr<EventsState> ParseEventsState(std::string_view text);
// Absent: there is no such file.
absl::StatusOr<std::optional<EventsState>> LoadEventsState(const std::string& path);

}  // namespace goodput
