// The order of a run's attempts.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Each attempt once, by the end of its wait. Pointers into the facts.
std::vector<const AttemptFacts*> AttemptsInOrder(const RunFacts& facts);

// Warns of attempts that held resources at the same time, which are not one run; shared time counts for the
// first.
void WarnOfOverlaps(const std::vector<const AttemptFacts*>& attempts, Ns now,
                    std::vector<std::string>& warnings);

}  // namespace goodput
