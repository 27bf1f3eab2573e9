// What a run's numbers would be had the questions that can be answered either way been answered otherwise:
// how long a step may take before it has stalled, whether evaluation is progress, what becomes of steps at
// risk and of time nobody knows anything about.
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

// The first row is the run as it is, with `options`. Pure: builds and counts the timeline anew.
std::vector<SensitivityRow> FindSensitivity(const RunFacts& facts, const TimelineOptions& options);

}  // namespace goodput
