// How long each stall of a timeline lasted, by what of it was left for the bucket.
#pragma once

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Fills in Stall::ns from the intervals and drops the stalls of which nothing is left: a save may have taken
// all of it, or the window lies elsewhere. Afterwards they are by begin, and add up to the bucket.
void MeasureStalls(Timeline& timeline);

}  // namespace goodput
