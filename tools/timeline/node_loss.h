// A node that dies says nothing of it. What its daemon last saw alive bounds what the program did: nothing
// after that moment is work.
#ifndef GOODPUT_TOOLS_TIMELINE_NODE_LOSS_H_
#define GOODPUT_TOOLS_TIMELINE_NODE_LOSS_H_

#include <optional>

#include "tools/timeline/facts.h"
#include "tools/timeline/program.h"

namespace goodput {

// The node whose loss ended the attempt's last program, and when it, or anything of the program, was last
// heard of; absent where no node was lost, or nothing is missing.
std::optional<LastSeen> FindNodeLoss(const AttemptFacts& attempt, const Program& program);

// Whatever of the program would have reached beyond that moment ends with it.
void EndWithNode(const LastSeen& lost, Program& program);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_NODE_LOSS_H_
