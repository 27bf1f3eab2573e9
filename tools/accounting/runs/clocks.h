// Converts the times that nodes recorded about one job to the controller's clock; see node_clock.h for one
// node.
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

// A node between two boots; the monotonic clock restarts at each boot.
using BootKey = std::pair<std::string, std::string>;

// The clocks of the machines that recorded a job, and which clock each record was written by.
class NodeClocks {
 public:
  // Adds an event of the job; the controller's own are ignored.
  void Add(const EventView& event);
  // Call after all events were added. Corrects the times of step marks and heartbeats in place; blocks of
  // steps are not changed: `block_shifts` is how far to move each. `shifts`: by how much the controller's
  // clock was set while the job was known.
  absl::Status Settle(Database& db, const JobKey& job, const std::map<std::int64_t, SourceRow>& sources,
                      const AllocatedSpans& spans, const std::vector<Ns>& shifts, JobSteps& steps,
                      std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats);
  // One for each clock that was set or differs.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // After Settle: the corrected time of an event.
  Ns Correct(const EventView& event);

 private:
  NodeClock& ClockOf(const EventView& event);
  // Where its time must lie; absent: it is the controller's own.
  const std::optional<NodeClock::Bound>& BoundOf(const EventView& event);
  absl::Status AlignByOthers(Database& db, const JobKey& job);
  absl::Status CorrectHeartbeats(Database& db, const JobKey& job, std::vector<Heartbeat>& heartbeats);

  std::map<BootKey, NodeClock> clocks_;
  std::vector<std::string> warnings_;
  // Of the previous event: most events have the same one.
  std::map<BootKey, NodeClock>::iterator last_ = clocks_.end();
  ByShape<std::optional<NodeClock::Bound>> bounds_;
};

}  // namespace goodput
