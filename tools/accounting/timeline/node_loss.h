// A node that dies says nothing of it. What its daemon last saw alive bounds what the program did: nothing
// after that moment is work.
#pragma once

#include <optional>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// The node whose loss ended the attempt's last program, and when it, or anything of the program, was last
// heard of; absent where no node was lost, or nothing is missing.
std::optional<LastSeen> FindNodeLoss(const AttemptFacts& attempt, const Program& program);

// Whatever of the program would have reached beyond that moment ends with it.
void EndWithNode(const LastSeen& lost, Program& program);

}  // namespace goodput
