// Reads one start of the training program from its marks: its steps, saves and phases.
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
  bool exits;              // its end is the exit of its tasks, not the begin of the next incarnation
  bool completed = false;  // the attempt was COMPLETED
};

// Whether a phase belongs before the first step; after a step, its begin means that the program restarted.
bool IsStartupPhase(std::string_view name);

// By time; at the same time, by position in the file.
std::vector<const Mark*> InOrder(std::vector<const Mark*> marks);

// The marks of a program other than begins of steps.
struct Told {
  std::vector<const Mark*> marks;   // the incarnation's own, in order
  std::vector<StepMark> step_ends;  // may include those of another incarnation
  SaveRanges saves;                 // of one task, of which none is in `marks`
};

// `folded`: its steps. `reader` may be null if `folded` has no blocks.
IncarnationFacts ReadIncarnation(int attempt_index, const std::set<std::int32_t>& slurm_steps,
                                 const Bounds& bounds, const Folded& folded, const Told& told,
                                 const Allocation& allocation, const StepReader* reader);

// Measures net times, medians and the end of each step's work; call again after adding saves.
void MeasureSteps(const Allocation& allocation, IncarnationFacts& program);

// Measures one that was a part of a block when the others were measured.
void MeasureStep(const IncarnationFacts& program, StepRecord& step);

}  // namespace goodput
