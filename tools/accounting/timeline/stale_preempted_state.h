// Finds stale PREEMPTED states: Slurm 24.05 to 26.05.2 remembers a preemption with grace time if the script's
// own requeue interrupts it or the time runs out; it then gives the state PREEMPTED to the next attempt that
// ends by itself, and requeues it once more.
#pragma once

#include <vector>

#include "tools/accounting/timeline/interruption.h"

namespace goodput {

// `ends`: the run's attempts in order, each with its last incarnation; without a program, it never started.
// The state of a PREEMPTED attempt without a preemption time is stale if an earlier attempt of the job
//   - had a preemption time, and no job took the nodes of this one, or nothing told it to end; or
//   - exited because of slurmstepd's TERM before it was requeued, and nothing told this one to end. Then the
//     preemption time of the earlier one was not seen: it is gone within a second if the script requeues at
//     once.
std::vector<Remembered> FindRemembered(const std::vector<EndContext>& ends);

}  // namespace goodput
