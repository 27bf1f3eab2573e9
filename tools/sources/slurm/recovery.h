// Which automatic recovery a job asked for when it was submitted. Pure.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

// "ajr": NVIDIA's Autonomous Job Recovery requeues it when its logs show a failure. Jobs ask for it by their
// comment, {"APS": {"auto_resume_mode": "requeue", ...}}
// (https://docs.nvidia.com/mission-control/docs/systems-administration-guide). "expedite": Slurm starts it
// again first of all, on the same nodes, which it keeps for the job meanwhile (sbatch --requeue=expedite,
// Slurm 25.11 and newer). Empty: none is known.
std::string RecoveryAskedFor(std::string_view comment, bool expedite);

}  // namespace goodput
