// Which starts of the training program (incarnations) an attempt holds: where one gives way to the next, and
// what of all that was marked belongs to each.
#ifndef GOODPUT_TOOLS_TIMELINE_INCARNATIONS_H_
#define GOODPUT_TOOLS_TIMELINE_INCARNATIONS_H_

#include <vector>

#include "tools/timeline/allocation.h"
#include "tools/timeline/program.h"

namespace goodput {

// Splits what one allocated attempt marked into incarnations, by begin. Always at least one. `reader` may be
// null where the attempt has no blocks of steps.
std::vector<Program> ReadPrograms(int attempt_index, const AttemptFacts& attempt,
                                  const Allocation& allocation, const StepReader* reader);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_INCARNATIONS_H_
