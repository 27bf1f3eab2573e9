// One start of the training program, once it is known which marks are its own: its steps, saves and phases.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

struct Bounds {
  Ns begin;
  Ns end;
  bool ended;
  bool exits;              // the end is the exit of its tasks, not the begin of the next incarnation in them
  bool completed = false;  // the attempt was
};

// What a program does before its first step; behind it, the begin of one says that the program was started
// anew.
bool IsStartupPhase(std::string_view name);

// By time; at the same time, by their place in the file.
std::vector<const Mark*> InOrder(std::vector<const Mark*> marks);

// What a program says besides the begins of its steps.
struct Told {
  std::vector<const Mark*> marks;   // the incarnation's own, in order
  std::vector<StepMark> step_ends;  // of these some may be another incarnation's
};

// `folded`: its steps. `reader` may be null where `folded` has no blocks.
Program ReadIncarnation(int attempt_index, const std::set<std::int32_t>& slurm_steps, const Bounds& bounds,
                        const Folded& folded, const Told& told, const Allocation& allocation,
                        const StepReader* reader);

// Net times, medians and the end of each step's work; again after saves were added.
void MeasureSteps(const Allocation& allocation, Program& program);

}  // namespace goodput
