// Estimates the duration of a step, and whether training waits for saves, from the times at which checkpoints
// appeared on disk and the steps that they hold.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// From the begin of one checkpoint to the begin of the next.
struct SaveInterval {
  Ns ns = 0;               // without time that is known not to be training
  Ns save = 0;             // part of it until the first checkpoint was complete
  std::int64_t steps = 0;  // done between the two
};

struct StepRate {
  // True: no step passed while a save was written; false: saves took no training time. Absent: the intervals
  // are too similar to tell.
  std::optional<bool> saves_block;
  Ns fastest = 0;  // per step, if all saves blocked
  Ns slowest = 0;  // if none did; equal to `fastest` if that is known
};

// Absent if no interval has a step.
//
// For intervals I of n steps with saves of w: if all saves block, (I - w) / n is the same for all; if none
// does, I / n is. The assumption that holds for most of them, and for more than the other, is chosen,
// if their w / n differ enough to tell: with the same save after the same number of steps, both hold.
std::optional<StepRate> FindStepRate(const std::vector<SaveInterval>& intervals);

}  // namespace goodput
