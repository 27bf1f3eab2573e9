// Was a program told to stop, and did it finish of its own?
#pragma once

#include <optional>
#include <string>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// Something that asked a program to stop, before it ended.
struct StopRequest {
  Ns t = 0;
  int signo = 0;       // 0: no signal was seen, the scheduler or the program says so
  std::string sender;  // as SignalFact has it
  Evidence evidence = Evidence::kScheduler;
  EvidenceRef ref;
};

// The first of: the scheduler's preemption, and a signal TERM, or one that asks for a checkpoint, after which
// the program ended without training on. KILL asks nothing. What the job's processes send each other, and
// what Slurm sends those that outlive a failed one, is no such order.
std::optional<StopRequest> FindStopRequest(const AttemptFacts& attempt, const Program& program);

// "TERM from slurmstepd", or that the scheduler preempted it.
std::string InWords(const StopRequest& order);

// It ended with exit 0 or its job's end, and nobody had told it to stop. `stop`: what FindStopRequest says.
bool Finished(const AttemptFacts& attempt, const Program& program, const std::optional<StopRequest>& stop,
              bool last_of_attempt);

}  // namespace goodput
