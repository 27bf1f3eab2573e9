#include "tools/otlp/otlp_message.h"

#include <optional>
#include <string_view>
#include <utility>

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"
#include "tools/sources/otel/span_attributes.h"

namespace goodput {
namespace {

namespace otlp = opentelemetry::proto;

SpanValue ValueOf(const otlp::common::v1::AnyValue& any) {
  SpanValue value;
  if (any.has_int_value()) value.number = any.int_value();
  if (any.has_bool_value()) value.flag = any.bool_value();
  if (any.has_string_value()) {
    value.text = any.string_value();
    value.number = NumberOf(value.text);
  }
  for (const otlp::common::v1::AnyValue& item : any.array_value().values()) {
    if (item.has_int_value() && value.numbers.size() < SpanValue::kMostNumbers)
      value.numbers.push_back(item.int_value());
  }
  return value;
}

std::optional<Ns> TimeOf(std::uint64_t unix_nano) {
  if (unix_nano > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<Ns>(unix_nano);
}

}  // namespace

absl::Status ReadTraceRequest(const std::string& message, const SpanParser::Take& take) {
  otlp::collector::trace::v1::ExportTraceServiceRequest request;
  if (!request.ParseFromString(message))
    return absl::InvalidArgumentError("not an ExportTraceServiceRequest in protobuf");
  std::int64_t index = 0;
  for (const otlp::trace::v1::ResourceSpans& resource : request.resource_spans()) {
    ProcessReader reader;
    for (const otlp::common::v1::KeyValue& attribute : resource.resource().attributes())
      reader.Set(attribute.key(), ValueOf(attribute.value()));
    const SpanProcess process = reader.Finish();
    for (const otlp::trace::v1::ScopeSpans& scope : resource.scope_spans()) {
      for (const otlp::trace::v1::Span& from : scope.spans()) {
        Span span;
        ++index;
        if (!SetNameAndTimes(from.name(), TimeOf(from.start_time_unix_nano()),
                             TimeOf(from.end_time_unix_nano()), span))
          continue;
        span.error = from.status().code() == otlp::trace::v1::Status::STATUS_CODE_ERROR;
        for (const otlp::common::v1::KeyValue& attribute : from.attributes())
          SetAttribute(attribute.key(), ValueOf(attribute.value()), span);
        take(process, span, index - 1);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace goodput
