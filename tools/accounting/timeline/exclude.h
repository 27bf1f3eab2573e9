// Excludes windows of time from a timeline, such as announced maintenance.
#pragma once

#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Removes the windows from the intervals, and drops interruptions, signals and checkpoints in them. Begin and
// end do not change: the intervals then have gaps, and sum to the wall time less the excluded time. Step
// counts remain those of the whole run.
void ExcludeTime(Timeline& timeline, std::vector<TimeSpan> windows);

// The gaps, in order: the excluded parts of [begin, end).
std::vector<TimeSpan> ExcludedSpans(const Timeline& timeline);

// The time in [from, to), within the timeline, that was not excluded.
Ns Included(const Timeline& timeline, Ns from, Ns to);

}  // namespace goodput
