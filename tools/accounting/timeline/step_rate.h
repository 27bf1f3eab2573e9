// How long a step takes, and whether the loop waits for its saves, from nothing but when checkpoints appeared
// on disk and which steps they hold.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// From the begin of one checkpoint to the begin of the next.
struct SaveInterval {
  Ns ns = 0;               // less what is known to be no training
  Ns save = 0;             // of these, until the first was complete
  std::int64_t steps = 0;  // done between the two
};

struct StepRate {
  // True: no step passed while a save was written; false: saves took no time of the loop. Absent: the
  // intervals are too much alike to tell.
  std::optional<bool> saves_block;
  Ns fastest = 0;  // per step, if all saves blocked
  Ns slowest = 0;  // if none did; the same as `fastest` where that is known
};

// Absent where no interval has a step.
//
// Intervals I of n steps with saves of w: were all saves blocking, (I - w) / n would be the same for all;
// were none, I / n would. Whichever holds for most of them, and for more than the other, is so.
std::optional<StepRate> FindStepRate(const std::vector<SaveInterval>& intervals);

}  // namespace goodput
