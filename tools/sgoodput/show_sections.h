// The parts of what `sgoodput show` says, in its order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/accounting/timeline/sensitivity.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/style.h"

namespace goodput {

// Which run it is, of whom, from when to when.
void PrintHead(const Report& report, const Style& style);
void PrintGoodput(const Report& report, const Style& style);
// A line a bucket, its parts below it.
void PrintBuckets(const Report& report, const Style& style);
// A row an attempt, and what each interruption cost in sentences; without `all` the ten worst of each.
void PrintAttempts(const Report& report, const Style& style, bool all);
void PrintInterruptions(const Report& report, const Style& style, bool all);
// The longest stalls; nothing where there were none.
void PrintStalls(const Report& report, const Style& style);
// What the job was sent and what became of it, the last `most` times; nothing where it was sent nothing.
inline constexpr std::size_t kMostDeliveries = 12;
void PrintSignals(const Report& report, const Style& style, std::size_t most = kMostDeliveries);
// One line in its place where every signal that asked for a checkpoint got one; nothing where none asked.
void PrintSignalSummary(const Report& report, const Style& style);
// Whether a signal that asked for a checkpoint went without one in time, or something is to be mended.
bool SignalsSaySomething(const Report& report);
// The page with this run, as `show --json --timeline` prints it, into the file `name`; "-" is stdout. Returns
// the exit status.
int WritePage(const std::string& json, const std::string& name);
// How long ago the last step of a running job began; nothing where none did.
void PrintLastStep(const Report& report);
// What nccl-tests measured last between its nodes; nothing where it did not.
void PrintNetwork(const Report& report, const Style& style);
// Kept steps by number, and allocated time by the scheduler and by buckets.
void PrintProof(const Report& report, const Style& style);
bool ProofHolds(const Report& report);
// The largest avoidable losses and what to do about them: three sentences at most.
void PrintWhatToDo(const Report& report, const Style& style);
// Goodput as others define it, and why Google's number is not ours.
void PrintDefinitions(const Report& report, const Style& style);
void PrintSensitivity(const std::vector<SensitivityRow>& rows, const Style& style);

}  // namespace goodput
