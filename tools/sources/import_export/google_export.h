// Writes a run as a log of Google's goodput library (see google_entry.h), so that its readers can read it,
// and importing it again gives the same buckets of what happened while the run had resources.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Calls `write` with pieces of text, whole lines; an error it returns ends the export. `timeline` is that of
// `facts`. Entries are by time, but what a program said after its attempt's end may be later than the next
// one's begin. Waiting is not part of such a log.
absl::Status ExportGoogleLog(const RunFacts& facts, const Timeline& timeline, const std::string& job_name,
                             const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
