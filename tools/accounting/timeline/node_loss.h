// Ends work when a lost node was last seen alive: nothing after that moment counts as work.
#pragma once

#include <optional>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// The node whose loss ended the attempt's last program, and when the node or the program was last heard of;
// absent if no node was lost, or no time is missing.
std::optional<LastSeen> FindNodeLoss(const AttemptFacts& attempt, const IncarnationFacts& program);

// Cuts the program at that moment.
void EndWithNode(const LastSeen& lost, IncarnationFacts& program);

}  // namespace goodput
