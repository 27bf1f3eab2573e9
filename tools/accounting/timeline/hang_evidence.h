// What was found out about a stall while it lasted: from records of hang evidence to sentences. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// "proc", "output", "ras", "py-spy".
std::string_view HangSourceName(HangEvidence::Source source);
std::optional<HangEvidence::Source> HangSourceOf(std::string_view name);

// The evidence that was collected during a stall, from its last progress to its end, by node and task. A node
// whose clock differs by up to 5 s counts, too.
std::vector<const HangEvidence*> EvidenceOf(const Timeline& timeline, const Stall& stall);

// In a few lines, those that say the same folded into one: which ranks are behind (NCCL), what the tasks do,
// where Python programs are,
// and the last line of output. Text from a job is not printable as it is.
std::vector<std::string> InWords(const std::vector<const HangEvidence*>& evidence);

// All that is known of a stall: errors of the hardware first, then InWords.
std::vector<std::string> AllInWords(const Timeline& timeline, const Stall& stall);

// The line that says most of why it stalled: an error of the hardware, else the ranks that NCCL says are
// behind, else a process that waits in the kernel; empty: none of the lines tells that.
std::string MostTelling(const Timeline& timeline, const Stall& stall);

}  // namespace goodput
