// Where a test of the network ran.
#pragma once

#include <vector>

#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Gives each test the nodes of the Slurm step that ran then, or, where none did, those of its attempt. Where
// several ran nobody knows of which it is, and it gets none. Of nodes that are numbered as `nodes` has it.
void NameNodesOfCollectives(const FactNodes& nodes, std::vector<AttemptFacts>& attempts);

}  // namespace goodput
