// Finds the nodes on which a test of the network ran.
#pragma once

#include <vector>

#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Leaves a test its hosts where they are nodes of its attempt. Others get the nodes of the Slurm step that
// ran at that time, or, without one, those of the attempt; if several steps ran, the right one is unknown and
// the test gets none. Nodes are numbered as in `nodes`.
void NameNodesOfCollectives(const FactNodes& nodes, std::vector<AttemptFacts>& attempts);

}  // namespace goodput
