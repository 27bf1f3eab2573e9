// Turns facts into buckets: every nanosecond between a run's first submit and its end (or now) is in exactly
// one bucket.
//
// Pure: no I/O, no clock, no state. The order of facts and duplicates do not matter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/accounting/timeline/checkpoints.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/intervals.h"
#include "tools/accounting/timeline/pace.h"
#include "tools/accounting/timeline/rank_wait.h"
#include "tools/accounting/timeline/signal_ledger.h"
#include "tools/accounting/timeline/timeline_parts.h"
#include "tools/accounting/timeline/world.h"

namespace goodput {

struct Timeline {
  Ns begin = 0;
  Ns end = 0;
  Ns now = 0;            // of the facts: open intervals end here
  bool running = false;  // the last attempt is pending or running
  Intervals intervals;   // partition [begin, end)
  std::vector<AttemptSummary> attempts;
  std::vector<Incarnation> incarnations;
  std::vector<WorldSpan> worlds;  // by attempt, then begin
  Checkpoints checkpoints;
  std::vector<Interruption> interruptions;
  std::vector<Stall> stalls;  // by begin
  SignalLedger signals;
  StepCounts steps;
  // Of the whole run; absent if no step is whole, or once the timeline is only a part of the run.
  std::optional<Pace> pace;
  // Absent if it is not known, or of none of the steps in a part of the run; then the reason.
  std::optional<RankWait> rank_wait;
  std::string rank_wait_why;
  std::size_t ranks_marked = 0;  // ranks that marked steps, of the start with most
  std::vector<std::string> warnings;
  // Set if facts had to be removed: what `attempts` then point into.
  std::shared_ptr<const RunFacts> mended;
};

// The facts must outlive the timeline. A run without attempts gives an empty timeline.
Timeline BuildTimeline(const RunFacts& facts, const TimelineOptions& options = {});

}  // namespace goodput
