// Joins the components of a heterogeneous job, which are several jobs for Slurm but one for a training run.
#pragma once

#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Makes one attempt of the components' attempts: it starts when the last of them has started, and ends with
// the last. Attempts of other jobs are not changed.
void JoinComponents(std::vector<AttemptFacts>& attempts);

}  // namespace goodput
