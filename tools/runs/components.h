// A heterogeneous job is several jobs for Slurm, its components; for a training run it is one.
#ifndef GOODPUT_TOOLS_RUNS_COMPONENTS_H_
#define GOODPUT_TOOLS_RUNS_COMPONENTS_H_

#include <vector>

#include "tools/timeline/facts.h"

namespace goodput {

// Makes one attempt of the components' attempts: it has started when the last of them has, and ends with the
// last. Attempts that are of no heterogeneous job stay as they are.
void JoinComponents(std::vector<AttemptFacts>& attempts);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_RUNS_COMPONENTS_H_
