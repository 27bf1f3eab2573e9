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
#include "sql/tables/evidence.h"
#include "sql/tables/heartbeats.h"
#include "tools/accounting/runs/hook_records.h"
#include "tools/accounting/runs/node_clock.h"

namespace goodput {

// A node between two boots; the monotonic clock begins anew with each.
using BootKey = std::pair<std::string, std::string>;

// The clocks of the machines that told of a job, by which each of their records was written.
class NodeClocks {
 public:
  // Corrects the times of a job's events, step marks and heartbeats in place; the controller's own records
  // are left alone. Blocks stay as they are: `block_shifts` is how far to move each. Records of hooks stay,
  // too: ask Correct. `shifts`: what the controller's clock was set by while the job was known.
  absl::Status Settle(const std::map<std::int64_t, SourceRow>& sources, const AllocatedSpans& spans,
                      const std::vector<Ns>& shifts, HookRecords& hooks, std::vector<EventRow>& events,
                      JobSteps& steps, std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats);
  // One for each clock that was set or is apart.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // After that: the time of a record of a hook.
  Ns Correct(const HookRecords::Record& record);

 private:
  NodeClock* ClockOf(const HookRecords::Record& record);
  absl::Status AlignByOthers(HookRecords& hooks);
  absl::Status CorrectHeartbeats(const std::map<std::int64_t, SourceRow>& sources, HookRecords& hooks,
                                 const std::vector<EventRow>& events,
                                 const std::vector<std::optional<Ns>>& clock_of_event,
                                 std::vector<Heartbeat>& heartbeats);

  std::map<BootKey, NodeClock> clocks_;
  std::map<std::int64_t, NodeClock*> of_source_;
  std::vector<std::string> warnings_;
  std::map<BootKey, NodeClock>::iterator last_ =
      clocks_.end();  // of the hook's record before: most are alike
};

}  // namespace goodput
