// What the hosts below an attempt's nodes had said when it ended: did they end it?
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct HostEvidence {
  std::string cause;  // "preempted" or "maintenance" where it ended the attempt, else empty
  std::string node;
  std::string words;  // what was said, and when
};

// Those in force at the attempt's end, the cause first; several nodes' equal word is one. A word is a cause
// where Slurm lost a node or requeued the job, and
//   preempted             it was said at most 2 min before (10 min where Slurm had to notice the loss)
//   maintenance           it says that the machine is ended, and was not taken back
//   upcoming_maintenance  its window had begun and was not over
// and the word is of a node that was lost, where Slurm says which. `lost`: when a node was last seen alive.
std::vector<HostEvidence> JudgeHosts(const AttemptFacts& attempt, const std::optional<LastSeen>& lost);

}  // namespace goodput
