// Measures the stalls of a timeline by the time that remains in the bucket.
#pragma once

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Sets Stall::ns from the intervals and drops stalls with no time left: a save may cover all of one, or it
// lies outside the window. Afterwards they are sorted by begin and add up to the bucket.
void MeasureStalls(Timeline& timeline);

}  // namespace goodput
