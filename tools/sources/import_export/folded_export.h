// Writes where a run's time went as folded stacks, the input of flamegraph.pl and speedscope: one line per
// stack, "RUN;SIDE;BUCKET;PART MILLISECONDS". SIDE is the factor of goodput that the bucket reduces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Calls `write` with complete lines, in the order in which their stacks first occur; an error it returns ends
// the export. Milliseconds are rounded, so their sum is the wall time to half a millisecond a line.
absl::Status ExportFoldedStacks(const Timeline& timeline, const std::string& name,
                                const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
