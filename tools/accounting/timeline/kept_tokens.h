// How many tokens the kept steps of an elastic run trained, where every mark of the world tells the tokens of
// a step.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/world.h"

namespace goodput {

// A step trains the tokens of the world in which it was; if the world changed meanwhile, the fewest of these,
// so that the sum is at most a step's difference too low for each change. Absent: a kept step was in a world
// whose tokens are unknown, or in none, or the marks of a block of steps can no longer be read.
//
// `fates`: of `programs`. `worlds`: of the run, as ReadWorlds() gives them.
std::optional<double> KeptTokens(const std::vector<const IncarnationFacts*>& programs,
                                 const std::vector<StepOutcome>& fates, const std::vector<WorldSpan>& worlds,
                                 const StepReader* reader);

}  // namespace goodput
