// A heterogeneous job is several jobs for Slurm, its components; for a training run it is one.
#pragma once

#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Makes one attempt of the components' attempts: it has started when the last of them has, and ends with the
// last. Attempts that are of no heterogeneous job stay as they are.
void JoinComponents(std::vector<AttemptFacts>& attempts);

}  // namespace goodput
