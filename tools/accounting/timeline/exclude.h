// Windows of time the owner of a run wants left out of a question, such as announced maintenance.
#pragma once

#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Takes what lies in the windows out of the intervals, and drops interruptions, signals and checkpoints in
// them. Begin and end stay: the intervals then have holes, and sum to the wall time less what was excluded.
// Step counts stay those of the whole run.
void ExcludeTime(Timeline& timeline, std::vector<TimeSpan> windows);

// The holes, in order: what was excluded of [begin, end).
std::vector<TimeSpan> ExcludedSpans(const Timeline& timeline);

// Of [from, to) within the timeline, what was not excluded.
Ns Included(const Timeline& timeline, Ns from, Ns to);

}  // namespace goodput
