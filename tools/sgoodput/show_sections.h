// The sections of `sgoodput show`, in order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/accounting/timeline/sensitivity.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/style.h"

namespace goodput {

// Which run it is, its owner, and from when to when.
void PrintHead(const Report& report, const Style& style);
void PrintGoodput(const Report& report, const Style& style);
// One line per bucket, its parts below.
void PrintBuckets(const Report& report, const Style& style);
// Of an elastic program or with spares: with how many GPUs it trained, and what the others did.
void PrintElastic(const Report& report, const Style& style);
// One row per attempt, and the cost of each interruption in sentences; without `all`, the ten worst of each.
void PrintAttempts(const Report& report, const Style& style, bool all);
void PrintInterruptions(const Report& report, const Style& style, bool all);
// The longest stalls; nothing if there were none.
void PrintStalls(const Report& report, const Style& style);
// The last `most` signals of the job and what became of them; nothing if there were none.
inline constexpr std::size_t kMostDeliveries = 12;
void PrintSignals(const Report& report, const Style& style, std::size_t most = kMostDeliveries);
// One line instead, if every signal that asked for a checkpoint got one; nothing if none asked.
void PrintSignalSummary(const Report& report, const Style& style);
// Whether a signal that asked for a checkpoint got none in time, or there is a warning.
bool SignalsSaySomething(const Report& report);
// Writes the page of this run, given as `show --json --timeline` prints it, to the file `name`; "-" is
// stdout. Returns the exit status.
int WritePage(const std::string& json, const std::string& name);
// How long ago the last step of a running job began; nothing if none did.
void PrintLastStep(const Report& report);
// The last nccl-tests result between its nodes; nothing if there is none.
void PrintNetwork(const Report& report, const Style& style);
// What the GPUs did, if nodes measured it; nothing otherwise.
void PrintGpuUse(const Report& report, const Style& style);
// What the steps used of their nodes, if it was measured; nothing otherwise.
void PrintHostUse(const Report& report, const Style& style);
// Kept steps by number, and allocated time by scheduler and buckets.
void PrintProof(const Report& report, const Style& style);
bool ProofHolds(const Report& report);
// The largest avoidable losses and what to do about them: at most three sentences.
std::vector<std::string> WhatToDoAbout(const Report& report);
void PrintWhatToDo(const Report& report, const Style& style);
// Other definitions of goodput, and why Google's number differs.
void PrintDefinitions(const Report& report, const Style& style);
void PrintSensitivity(const std::vector<SensitivityRow>& rows, const Style& style);

}  // namespace goodput
