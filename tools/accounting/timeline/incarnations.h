// Splits an attempt into starts of the training program (incarnations) and assigns its marks to them.
#pragma once

#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// Splits the marks of one allocated attempt into incarnations, by begin. Always at least one. `reader` may be
// null if the attempt has no blocks of steps.
std::vector<IncarnationFacts> SplitIntoIncarnations(int attempt_index, const AttemptFacts& attempt,
                                                    const Allocation& allocation, const StepReader* reader);

}  // namespace goodput
