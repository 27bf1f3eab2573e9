// What `sgoodput show` says besides where the time went: stalls, signals, the proof, other definitions,
// sensitivity.
#ifndef GOODPUT_TOOLS_SGOODPUT_SHOW_SECTIONS_H_
#define GOODPUT_TOOLS_SGOODPUT_SHOW_SECTIONS_H_

#include <vector>

#include "tools/sgoodput/report.h"
#include "tools/sgoodput/style.h"
#include "tools/timeline/sensitivity.h"

namespace goodput {

// The longest stalls; nothing where there were none.
void PrintStalls(const Report& report, const Style& style);
// What the job was sent and what became of it; nothing where it was sent nothing.
void PrintSignals(const Report& report, const Style& style);
// How long ago the last step of a running job began; nothing where none did.
void PrintLastStep(const Report& report);
// Kept steps by number, and allocated time by the scheduler and by buckets.
void PrintProof(const Report& report, const Style& style);
// Goodput as others define it, and why Google's number is not ours.
void PrintDefinitions(const Report& report, const Style& style);
void PrintSensitivity(const std::vector<SensitivityRow>& rows, const Style& style);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_SHOW_SECTIONS_H_
