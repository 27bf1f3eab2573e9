// Writes a run's timeline as Trace Event JSON ("Trace Event Format", Google, 2016), for Perfetto and
// chrome://tracing.
//
// One process, named after the run, with a thread per row: buckets (a partition of the wall time), attempts,
// starts of the program, checkpoints, signals, and interruptions. Times are microseconds since the run's
// begin, with three decimals; `otherData.begin_ns` is that begin in nanoseconds since the epoch.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Calls `write` with text in complete lines; an error it returns ends the export.
absl::Status ExportTrace(const Timeline& timeline, const std::string& name,
                         const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
