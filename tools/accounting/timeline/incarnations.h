// Which starts of the training program (incarnations) an attempt holds: where one gives way to the next, and
// what of all that was marked belongs to each.
#pragma once

#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// Splits what one allocated attempt marked into incarnations, by begin. Always at least one. `reader` may be
// null where the attempt has no blocks of steps.
std::vector<Program> SplitIntoIncarnations(int attempt_index, const AttemptFacts& attempt,
                                           const Allocation& allocation, const StepReader* reader);

}  // namespace goodput
