// Brings what nodes wrote about one job onto the controller's time: see node_clock.h for one node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/runs/node_clock.h"

namespace goodput {

// A node between two boots; the monotonic clock begins anew with each.
using BootKey = std::pair<std::string, std::string>;

// The clocks of the machines that told of a job, by which each of their records was written.
class NodeClocks {
 public:
  // An event of the job; the controller's own are left alone.
  void Add(const EventView& event);
  // When all events were added. Corrects the times of step marks and heartbeats in place; blocks of steps
  // stay as they are: `block_shifts` is how far to move each. `shifts`: what the controller's clock was set
  // by while the job was known.
  absl::Status Settle(Database& db, const JobKey& job, const std::map<std::int64_t, SourceRow>& sources,
                      const AllocatedSpans& spans, const std::vector<Ns>& shifts, JobSteps& steps,
                      std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats);
  // One for each clock that was set or is apart.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // After that: the time of an event.
  Ns Correct(const EventView& event);

 private:
  NodeClock& ClockOf(const EventView& event);
  // Where its time must lie; absent: it is the controller's own.
  const std::optional<NodeClock::Bound>& BoundOf(const EventView& event);
  absl::Status AlignByOthers(Database& db, const JobKey& job);
  absl::Status CorrectHeartbeats(Database& db, const JobKey& job, std::vector<Heartbeat>& heartbeats);

  std::map<BootKey, NodeClock> clocks_;
  std::vector<std::string> warnings_;
  std::map<BootKey, NodeClock>::iterator last_ = clocks_.end();  // of the event before: most are alike
  ByShape<std::optional<NodeClock::Bound>> bounds_;
};

}  // namespace goodput
