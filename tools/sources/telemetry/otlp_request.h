// Requests of OTLP, OpenTelemetry's protocol over HTTP (release 1.9.0): spans and metrics, as JSON or
// protobuf.
//
// Pure. Spans and points are encoded one by one, so that a sender can see how large a request becomes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/base/time.h"

namespace goodput {

enum class OtlpProtocol : std::uint8_t { kJson, kProtobuf };

struct OtlpAttribute {
  std::string key;
  std::variant<std::string, std::int64_t, double, bool> value;
};
using OtlpAttributes = std::vector<OtlpAttribute>;

struct OtlpSpan {
  std::string trace_id;   // 16 bytes
  std::string span_id;    // 8 bytes
  std::string parent_id;  // empty: the root
  std::string name;
  Ns begin = 0;
  Ns end = 0;
  OtlpAttributes attributes;
  std::string error;  // the status' message; empty: no error
};

struct OtlpPoint {
  OtlpAttributes attributes;
  double value = 0;
  Ns start = 0;  // of a sum; 0: a gauge
  Ns time = 0;
};

struct OtlpMetric {
  std::string name;
  std::string unit;
  std::string description;
  bool is_sum = false;              // monotonic and cumulative; otherwise a gauge
  std::vector<std::string> points;  // encoded
};

std::string EncodeSpan(const OtlpSpan& span, OtlpProtocol protocol);
std::string EncodePoint(const OtlpPoint& point, OtlpProtocol protocol);

// An ExportTraceServiceRequest, of encoded spans.
std::string TraceRequest(const OtlpAttributes& resource, const std::vector<std::string>& spans,
                         OtlpProtocol protocol);
// An ExportMetricsServiceRequest.
std::string MetricsRequest(const OtlpAttributes& resource, const std::vector<OtlpMetric>& metrics,
                           OtlpProtocol protocol);

std::string_view ContentType(OtlpProtocol protocol);

// What a server did not take of a request that it otherwise accepted.
struct PartialSuccess {
  std::int64_t rejected = 0;  // spans or points
  std::string message;
};
// Of the body of a response with status 200; zero if it has none or cannot be read.
PartialSuccess ReadPartialSuccess(std::string_view body, OtlpProtocol protocol);

// The reason in the body of any other response: the message of a Status. Empty if there is none.
std::string ReadStatusMessage(std::string_view body, OtlpProtocol protocol);

}  // namespace goodput
