// Interruptions that ended a program which no longer got on.
#pragma once

#include <optional>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Whoever ended it, a time limit, its user, a watchdog of its own: where it had stalled until then for at
// least this long, the cause is `hang`, and the one before that stays among the evidence. What would have
// ended any program (a preemption, a lost node, memory, an operator) stays the cause. Stalls must be
// measured.
inline constexpr Ns kHang = 60 * kSecond;
void NameHangs(Timeline& timeline);

// Until when the node that told of the program's last step is known to have been heard from: what the program
// marked until then would be here. Within kHang of now it counts as heard until now.
std::optional<Ns> HeardUntil(const RunFacts& facts, const AttemptFacts& attempt, const Program& program);

// Since when a run that is still running has made no progress, where it was heard from since and that is at
// least kHang ago; absent: it trains, or nothing is known.
std::optional<Ns> NoProgressSince(const Timeline& timeline);

}  // namespace goodput
