// Infers the steps of programs without marks from the checkpoints that they left on disk.
//
// A checkpoint tells how many steps were done when it began. Between two checkpoints, their distance gives
// the step time. Before the first, steps are placed backwards at the same rate, to the checkpoint from which
// the program resumed (or to step 1); the time before is startup. After the last, steps are placed until the
// program was told to stop, or ended. Time that does not follow from this is unobserved: saves if it is
// unknown whether training waited for them, time in which a checkpoint was overdue, and time beyond what the
// steps took elsewhere. Goodput is then a range, not a guess.
//
// The same for a program that reports its saves, but no steps (kStepsUntold); how long training waited for a
// save is then known.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// A program of the run, and what bounds its training.
struct Placeable {
  IncarnationFacts* program = nullptr;
  std::optional<Ns> stop;  // when it was told to stop
  Ns end = 0;              // when it ended, or its last record
  bool finished = false;   // exit 0 without having been told to stop
};

// Takes all programs of a run, in order. Those with marked steps, or with too few checkpoints to find a rate,
// are not changed.
void InferSteps(const std::vector<Placeable>& programs);

}  // namespace goodput
