// Interruptions that ended a program which no longer got on.
#ifndef GOODPUT_TOOLS_TIMELINE_HANG_H_
#define GOODPUT_TOOLS_TIMELINE_HANG_H_

#include "tools/timeline/timeline.h"

namespace goodput {

// Whoever ended it, a time limit, its user, a watchdog of its own: where it had stalled until then for at
// least this long, the cause is `hang`, and the one before that stays among the evidence. What would have
// ended any program (a preemption, a lost node, memory, an operator) stays the cause. Stalls must be
// measured.
inline constexpr Ns kHang = 60 * kSecond;
void NameHangs(Timeline& timeline);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_HANG_H_
