// Finds interruptions that ended a hanging program.
#pragma once

#include <optional>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// If a program had stalled for at least this long when it was ended by a time limit, its user or its own
// watchdog, the cause is `hang`, and the previous cause stays in the evidence. A cause that would have ended
// any program (a preemption, a lost node, memory, an administrator) remains. Stalls must be measured.
inline constexpr Ns kHang = 60 * kSecond;
void NameHangs(Timeline& timeline);

// Until when the node that reported the program's last step is known to have been alive; marks of the program
// up to then would have arrived. A time within kHang of now counts as now.
std::optional<Ns> HeardUntil(const RunFacts& facts, const AttemptFacts& attempt,
                             const IncarnationFacts& program);

// Since when a running run has made no progress, if its node was alive since and that is at least kHang ago;
// absent: it trains, or this is unknown.
std::optional<Ns> NoProgressSince(const Timeline& timeline);

}  // namespace goodput
