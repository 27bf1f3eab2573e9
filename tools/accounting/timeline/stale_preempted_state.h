// Slurm 24.05 to 25.11 remembers a preemption with grace time that a requeue by the script cut short, or
// whose time ran out: the next attempt that ends by itself is called PREEMPTED, too, and requeued once more.
// Which states are such leftovers, and whose preemption do they tell of?
#pragma once

#include <vector>

#include "tools/accounting/timeline/interruption.h"

namespace goodput {

// `ends`: of the run's attempts in order, each with what was last of it; without a program: it never started.
// An attempt that is PREEMPTED and was given no preemption time is such a leftover where an earlier attempt
// of the job
//   - was given a time, and nobody took the nodes of this one, or it ended though nothing told it to; or
//   - left because of slurmstepd's TERM before it was requeued, and this one ended though nothing told it to:
//     then nobody saw the earlier one's time, which is gone within the second where the script requeues at
//     once.
std::vector<Remembered> FindRemembered(const std::vector<EndContext>& ends);

}  // namespace goodput
