// How fast a run's kept steps were compared with its own best one.
//
// The best step is the shortest whole step after the run's first complete save, or of all if there is none:
// one that began and ended, was not the first of its start (which compiles), and not the last. Saves and
// overhead in it do not count. A line that reports several steps gives their mean. A minimum is fragile, so
// the 5 % quantile is beside it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"

namespace goodput {

struct Pace {
  Ns best = 0;
  Ns p05 = 0;
  // Of each incarnation, in order.
  struct Start {
    std::int64_t kept = 0;          // steps
    Ns first_step = 0;              // what its first step took beyond the best, if it was kept
    Ns after_checkpoint = 0;        // what kept steps that followed a save took beyond the best
    bool steps_are_packed = false;  // too many to look at each: after_checkpoint is too low
  };
  std::vector<Start> starts;
};

// `programs` and `fates` correspond. Absent: no step is whole.
std::optional<Pace> MeasurePace(const std::vector<const IncarnationFacts*>& programs,
                                const std::vector<StepOutcome>& fates, const StepReader* reader);

}  // namespace goodput
