// How long a run waited for machines that the cloud did not provide, and where. Pure.
//
// The evidence is the reason of a node that was allocated to the run's own job (MachineLack; without one,
// the job's admin comment). Slurm then ends the attempt, or the operator does, and the job waits again. Such
// a wait begins with the allocation whose machines were refused, and ends when a later attempt has all its
// machines, or with the run. In between, all time on the side of scheduling is waiting for machines, whatever
// Slurm calls it: the allocation in vain, the back-off after the requeue, the queue. Time in which the run is
// held is not. A run that waits in the queue because other jobs found no machines is not told: nothing says
// that it would have started.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct MachineWait {
  Ns begin = 0;
  Ns end = 0;
  std::vector<MachineLack> reports;  // by time, at least one
};

// By begin; they do not overlap.
std::vector<MachineWait> MachineWaits(const Timeline& timeline);

// The report to which an interval was lost: of the wait that contains it, the last one until the interval's
// end, or the first one if all came later. Null: it is no wait for machines.
const MachineLack* LackOf(const std::vector<MachineWait>& waits, const Interval& interval);
// The one that its allocation waited for when it was interrupted; null if there is none.
const MachineLack* LackOf(const std::vector<MachineWait>& waits, const Interruption& interruption);

// The zone of a stockout, "unknown" if its text names none; "quota", "reservation" or "error" if the machines
// were refused for another reason.
std::string LackName(const MachineLack& lack);

}  // namespace goodput
