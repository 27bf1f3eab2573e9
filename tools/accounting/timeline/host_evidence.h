// Whether notices of the cloud about an attempt's hosts explain its end.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct HostEvidence {
  std::string cause;  // "preempted" or "maintenance" if it ended the attempt, otherwise empty
  std::string node;
  std::string words;  // the notice and its time
};

// The notices in force at the attempt's end, the cause first; equal notices of several nodes are one. A
// notice is a cause if Slurm lost a node or requeued the job, the notice is for a node that was lost (if
// Slurm names one), and
//   preempted: it came at most 2 min before (10 min if Slurm had to detect the loss)
//   maintenance: it says that the machine is ended, and was not withdrawn
//   upcoming_maintenance: its window had begun and was not over
// `lost`: when a node was last seen alive.
std::vector<HostEvidence> JudgeHosts(const AttemptFacts& attempt, const std::optional<LastSeen>& lost);

}  // namespace goodput
