// Was a program told to stop, and did it finish of its own?
#ifndef GOODPUT_TOOLS_TIMELINE_STOP_SIGNAL_H_
#define GOODPUT_TOOLS_TIMELINE_STOP_SIGNAL_H_

#include <optional>

#include "tools/timeline/facts.h"
#include "tools/timeline/program.h"

namespace goodput {

// A signal that asked the program to stop, before it ended: what the scheduler says (the kernel's word comes
// with signal events).
std::optional<Ns> StopSignal(const AttemptFacts& attempt, const Program& program);

// It ended with exit 0 or its job's end, and nobody had told it to stop.
bool Finished(const AttemptFacts& attempt, const Program& program, bool last_of_attempt);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_STOP_SIGNAL_H_
