// A timeline seen through a window, as `sacct -T` sees a job.
#pragma once

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Leaves only what lies in [begin, end): intervals are cut, interruptions, signals and
// checkpoints outside dropped.
// Step counts stay those of the whole run: a step has no half.
void ClipTimeline(Timeline& timeline, Ns begin, Ns end);

}  // namespace goodput
