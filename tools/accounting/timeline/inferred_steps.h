// The steps of programs that say nothing, placed between the checkpoints they left on disk.
//
// A checkpoint tells how many steps were done when it began. Between two of them steps took what they took;
// before the first, they are run back at the same rate from it to the checkpoint the program went on from (or
// to step 1), and what is left of the time before is startup; after the last, they are run on until the
// program was told to stop, or ended. Whatever does not follow (time of a save if nothing says whether the
// loop waited for it, time in which a checkpoint was overdue, or more time than the steps took elsewhere) is
// unobserved: goodput is then a range, not a guess.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// A program of the run, and what bounds its training.
struct Placeable {
  Program* program = nullptr;
  std::optional<Ns> stop;  // it was told to stop
  Ns end = 0;              // when it ended, or was last heard of
  bool finished = false;   // exit 0, and nobody told it to stop
};

// All programs of a run, in order. Those that told steps, or left fewer checkpoints than it takes to know a
// rate, stay as they are.
void InferSteps(const std::vector<Placeable>& programs);

}  // namespace goodput
