// Writes a run as a log of Google's goodput library (see google_entry.h), for its readers; importing it again
// gives the same buckets for the time in which the run had resources.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Calls `write` with text in complete lines; an error it returns ends the export. `timeline` is that of
// `facts`. Entries are by time, except that a program's entries after its attempt's end may be later than the
// next attempt's begin. Waiting is not part of such a log.
absl::Status ExportGoogleLog(const RunFacts& facts, const Timeline& timeline, const std::string& job_name,
                             const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
