// How a run's numbers change under other assumptions: when a step counts as stalled, whether evaluation is
// progress, and what at-risk steps and unobserved time turn out to be.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct SensitivityRow {
  std::string name;   // for programs: as_is, stall_factor_3 ...
  std::string label;  // for people
  Goodput goodput;
  std::int64_t kept = 0;  // steps
  Ns stall = 0;
  Ns lost = 0;
};

// The first row is the run as measured, with `options`. Pure: builds and counts the timeline again.
std::vector<SensitivityRow> FindSensitivity(const RunFacts& facts, const TimelineOptions& options);

}  // namespace goodput
