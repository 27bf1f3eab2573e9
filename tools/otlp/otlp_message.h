// Reads spans from the messages of OTLP, OpenTelemetry's protocol (the files in proto/ are of its
// release 1.9.0).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/sources/otel/span_text.h"

namespace goodput {

// An ExportTraceServiceRequest in protobuf. InvalidArgument: it is none; `take` was then not called.
absl::Status ReadTraceRequest(const std::string& message, const SpanParser::Take& take);

}  // namespace goodput
