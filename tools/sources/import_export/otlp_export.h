// Writes a run as the body of a POST to an OTLP endpoint's /v1/traces: the spans of what has ended, as JSON.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Calls `write` with text in complete lines; an error it returns ends the export.
absl::Status ExportOtlpTrace(const RunInfo& info, const Timeline& timeline,
                             const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
