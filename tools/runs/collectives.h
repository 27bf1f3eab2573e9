// Where a test of the network ran.
#ifndef GOODPUT_TOOLS_RUNS_COLLECTIVES_H_
#define GOODPUT_TOOLS_RUNS_COLLECTIVES_H_

#include <vector>

#include "tools/runs/fact_nodes.h"
#include "tools/timeline/facts.h"

namespace goodput {

// Gives each test the nodes of the Slurm step that ran then, or, where none did, those of its attempt. Where
// several ran nobody knows of which it is, and it gets none. Of nodes that are numbered as `nodes` has it.
void NameNodesOfCollectives(const FactNodes& nodes, std::vector<AttemptFacts>& attempts);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_RUNS_COLLECTIVES_H_
