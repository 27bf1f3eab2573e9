// What the nodes recorded about one allocation: when it was ready, when each task lived, when the last one
// was gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// One task of one Slurm step (the batch script is task 0 of the batch step), clamped to the allocation.
struct TaskLife {
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  Ns begin = 0;
  std::optional<Ns> executed;   // when its setup was done, not clamped; absent: there was none
  std::optional<Ns> end;        // absent: its exit was not seen
  std::optional<Ns> exit_time;  // the same, not clamped
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  EvidenceRef started;
  EvidenceRef exited;
};

struct Allocation {
  Ns begin = 0;
  Ns end = 0;          // now, while running
  bool ended = false;  // false: still running
  // When the extern step (without one, the first step) had started on the last of the nodes seen, or another
  // step had started there earlier.
  std::optional<Ns> ready;
  EvidenceRef ready_ref;
  // When the last task was gone; absent while one may live or if an exit was not seen.
  std::optional<Ns> teardown;
  EvidenceRef teardown_ref;
  std::vector<TaskLife> lives;  // by slurm_step, then task
  // When a signal killed the batch script, possibly after the end: Slurm was ending the job.
  std::optional<Ns> script_killed;
  std::vector<TimeSpan> suspended;
};

// `attempt` must have a start.
Allocation ReadAllocation(const AttemptFacts& attempt, Ns now);

// The Slurm steps that are the program: sruns, and any step that sent marks; without either, the batch script
// or the interactive shell.
std::vector<std::int32_t> ProgramSteps(const AttemptFacts& attempt, const Allocation& allocation);

// When tasks of `slurm_steps` were alive, merged and in order. A step that is known only from marks counts
// from its first mark to the end of the allocation.
std::vector<TimeSpan> AliveSpans(const AttemptFacts& attempt, const Allocation& allocation,
                                 const std::vector<std::int32_t>& slurm_steps);

// Merges overlapping and touching spans, in order.
std::vector<TimeSpan> MergeSpans(std::vector<TimeSpan> spans);

}  // namespace goodput
