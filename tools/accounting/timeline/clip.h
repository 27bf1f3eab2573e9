// Restricts a timeline to a window, as `sacct -T` does.
#pragma once

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Keeps only [begin, end): cuts intervals and drops interruptions, signals and checkpoints outside. Step
// counts remain those of the whole run, since steps are not divided.
void ClipTimeline(Timeline& timeline, Ns begin, Ns end);

}  // namespace goodput
