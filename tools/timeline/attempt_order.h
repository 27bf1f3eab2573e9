// Which attempt of a run came after which.
#ifndef GOODPUT_TOOLS_TIMELINE_ATTEMPT_ORDER_H_
#define GOODPUT_TOOLS_TIMELINE_ATTEMPT_ORDER_H_

#include <string>
#include <vector>

#include "tools/timeline/facts.h"

namespace goodput {

// Each once, by when its wait was over. Borrowed from the facts.
std::vector<const AttemptFacts*> AttemptsInOrder(const RunFacts& facts);

// Two attempts that hold resources at once are not one run; the time both had is counted for the first.
void WarnOfOverlaps(const std::vector<const AttemptFacts*>& attempts, Ns now,
                    std::vector<std::string>& warnings);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_ATTEMPT_ORDER_H_
