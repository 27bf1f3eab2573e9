#include "tools/sources/import_export/otlp_export.h"

#include <string>
#include <vector>

#include "tools/sources/telemetry/run_spans.h"

namespace goodput {

absl::Status ExportOtlpTrace(const RunInfo& info, const Timeline& timeline,
                             const std::function<absl::Status(std::string_view)>& write) {
  std::vector<std::string> spans;
  for (const SpanGroup& group : SpansOfRun(info, timeline)) {
    for (const OtlpSpan& span : group.spans) spans.push_back(EncodeSpan(span, OtlpProtocol::kJson));
  }
  if (spans.empty())
    return absl::FailedPreconditionError("nothing of this run has ended yet, so it has no spans");
  return write(TraceRequest(TelemetryResource(info.cluster), spans, OtlpProtocol::kJson));
}

}  // namespace goodput
