// Loads all events that a cursor returns.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/jobs.h"

namespace goodput {

inline absl::StatusOr<std::vector<EventRow>> LoadAll(Database& db, const EventsOf& which) {
  EventCursor cursor(db, which);
  std::vector<EventRow> events;
  while (cursor.Next()) {
    const EventView& event = cursor.event();
    events.push_back({event.source_id, event.offset, event.t_ns, std::string(event.kind), event.Record()});
  }
  if (!cursor.status().ok()) return cursor.status();
  return events;
}

// The events of a job, by time.
inline absl::StatusOr<std::vector<EventRow>> LoadEvents(Database& db, const JobKey& job) {
  absl::StatusOr<std::vector<EventRow>> events = LoadAll(db, EventsOf::Job(job));
  if (!events.ok()) return events;
  const auto place = [](const EventRow& event) {
    return std::tie(event.t_ns, event.source_id, event.offset);
  };
  std::stable_sort(events->begin(), events->end(),
                   [&](const EventRow& a, const EventRow& b) { return place(a) < place(b); });
  return events;
}

}  // namespace goodput
