// Which attempt of a run came after which.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Each once, by when its wait was over. Borrowed from the facts.
std::vector<const AttemptFacts*> AttemptsInOrder(const RunFacts& facts);

// Two attempts that hold resources at once are not one run; the time both had is counted for the first.
void WarnOfOverlaps(const std::vector<const AttemptFacts*>& attempts, Ns now,
                    std::vector<std::string>& warnings);

}  // namespace goodput
