// A run as a trace of OpenTelemetry: run > attempt > program > checkpoint and interruption.
//
// Pure. Only what has ended becomes a span. Ids are hashes of what a span is about (the cluster, the run's
// first job and its submit, the attempt's job and submit, ...), so that a span that is sent again is the same
// span.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/timeline.h"
#include "tools/sources/telemetry/otlp_request.h"

namespace goodput {

// Spans that become known together: those of an attempt, or the run's own, last.
struct SpanGroup {
  std::string key;  // differs from all other groups', and if the run went on and ended again
  Ns end = 0;
  std::vector<OtlpSpan> spans;
};

// In the order of attempts; empty if nothing has ended.
std::vector<SpanGroup> SpansOfRun(const RunInfo& info, const Timeline& timeline);

// Describes this program to whoever receives its spans and metrics. `cluster` may be empty.
OtlpAttributes TelemetryResource(const std::string& cluster);

}  // namespace goodput
