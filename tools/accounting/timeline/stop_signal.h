// Whether a program was told to stop, and whether it finished by itself.
#pragma once

#include <optional>
#include <string>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// A request to stop that came before the program ended.
struct StopRequest {
  Ns t = 0;
  int signo = 0;       // 0: no signal was seen; the scheduler or the program reports it
  std::string sender;  // as in SignalFact
  Evidence evidence = Evidence::kScheduler;
  EvidenceRef ref;
};

// The first of: the scheduler's preemption; and a signal TERM, or one that asks for a checkpoint, after which
// the program ended without training on. KILL is not a request. Signals between the job's own processes, and
// those that Slurm sends to survivors of a failed process, do not count.
std::optional<StopRequest> FindStopRequest(const AttemptFacts& attempt, const IncarnationFacts& program);

// "TERM from slurmstepd", or that the scheduler preempted it.
std::string InWords(const StopRequest& order);

// It ended with exit 0 or its job's end, and was not told to stop. `stop`: the result of FindStopRequest.
bool Finished(const AttemptFacts& attempt, const IncarnationFacts& program,
              const std::optional<StopRequest>& stop, bool last_of_attempt);

}  // namespace goodput
