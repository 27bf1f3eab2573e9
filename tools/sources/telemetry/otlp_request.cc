#include "tools/sources/telemetry/otlp_request.h"

#include <simdjson.h>

#include <cstring>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "config.h"
#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::string_view kScope = "slurm-goodput";
constexpr int kInternal = 1;  // SpanKind
constexpr int kError = 2;     // Status.StatusCode
constexpr int kCumulative = 2;

// --- JSON, in which 64-bit integers are strings, and ids are hexadecimal

std::string JsonNumber(double value) {
  return absl::StrFormat("%.17g", value);
}

std::string JsonValue(const OtlpAttribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute.value))
    return Cat(R"("stringValue":)", QuotedJson(*text));
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value))
    return Cat(R"("intValue":")", *number, "\"");
  if (const auto* number = std::get_if<double>(&attribute.value))
    return Cat(R"("doubleValue":)", JsonNumber(*number));
  return Cat(R"("boolValue":)", std::get<bool>(attribute.value) ? "true" : "false");
}

std::string JsonAttributes(const OtlpAttributes& attributes) {
  return Cat(R"("attributes":[)",
             absl::StrJoin(attributes, ",",
                           [](std::string* text, const OtlpAttribute& attribute) {
                             text->append(Cat(R"({"key":)", QuotedJson(attribute.key), R"(,"value":{)",
                                              JsonValue(attribute), "}}"));
                           }),
             "]");
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(ToAbsl(bytes));
}

std::string JsonSpan(const OtlpSpan& span) {
  std::string text = Cat(R"({"traceId":")", Hex(span.trace_id), R"(","spanId":")", Hex(span.span_id), "\"");
  if (!span.parent_id.empty()) text += Cat(R"(,"parentSpanId":")", Hex(span.parent_id), "\"");
  text += Cat(R"(,"name":)", QuotedJson(span.name), R"(,"kind":)", kInternal, R"(,"startTimeUnixNano":")",
              span.begin, R"(","endTimeUnixNano":")", span.end, "\",", JsonAttributes(span.attributes));
  if (!span.error.empty())
    text += Cat(R"(,"status":{"message":)", QuotedJson(span.error), R"(,"code":)", kError, "}");
  return text + "}";
}

std::string JsonPoint(const OtlpPoint& point) {
  const std::string start = point.start == 0 ? "" : Cat(R"("startTimeUnixNano":")", point.start, "\",");
  return Cat("{", JsonAttributes(point.attributes), ",", start, R"("timeUnixNano":")", point.time,
             R"(","asDouble":)", JsonNumber(point.value), "}");
}

std::string JsonRequest(std::string_view of, const OtlpAttributes& resource,
                        const std::vector<std::string>& items, std::string_view item) {
  return Cat("{\"resource", of, R"(":[{"resource":{)", JsonAttributes(resource), R"(},"scope)", of,
             R"(":[{"scope":{"name":")", kScope, R"(","version":")", PACKAGE_VERSION, "\"},\"", item,
             "\":[\n", absl::StrJoin(items, ",\n"), "\n]}]}]}\n");
}

std::string JsonMetric(const OtlpMetric& metric) {
  const std::string kind =
      metric.is_sum ? Cat(R"("aggregationTemporality":)", kCumulative, R"(,"isMonotonic":true,)") : "";
  return Cat(R"({"name":)", QuotedJson(metric.name), R"(,"unit":)", QuotedJson(metric.unit),
             R"(,"description":)", QuotedJson(metric.description),
             metric.is_sum ? ",\"sum\":{" : ",\"gauge\":{", kind, "\"dataPoints\":[\n",
             absl::StrJoin(metric.points, ",\n"), "\n]}}");
}

// --- Protocol Buffers

class ProtobufMessage {
 public:
  ProtobufMessage& Varint(int field, std::uint64_t value) {
    Tag(field, 0);
    return Raw(value);
  }
  ProtobufMessage& Fixed64(int field, std::uint64_t value) {
    Tag(field, 1);
    for (int i = 0; i < 8; ++i) text_.push_back(static_cast<char>(value >> (8U * static_cast<unsigned>(i))));
    return *this;
  }
  ProtobufMessage& Double(int field, double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return Fixed64(field, bits);
  }
  ProtobufMessage& Bytes(int field, std::string_view bytes) {
    Tag(field, 2);
    Raw(bytes.size());
    text_ += bytes;
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  void Tag(int field, unsigned type) { Raw((static_cast<std::uint64_t>(field) << 3U) | type); }
  ProtobufMessage& Raw(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    text_.push_back(static_cast<char>(value));
    return *this;
  }
  std::string text_;
};

std::string ProtobufAttribute(const OtlpAttribute& attribute) {
  ProtobufMessage value;
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    value.Bytes(1, *text);
  } else if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    value.Varint(3, static_cast<std::uint64_t>(*number));
  } else if (const auto* real = std::get_if<double>(&attribute.value)) {
    value.Double(4, *real);
  } else {
    value.Varint(2, std::get<bool>(attribute.value) ? 1 : 0);
  }
  return ProtobufMessage().Bytes(1, attribute.key).Bytes(2, value.Take()).Take();
}

void AddAttributes(ProtobufMessage& message, int field, const OtlpAttributes& attributes) {
  for (const OtlpAttribute& attribute : attributes) message.Bytes(field, ProtobufAttribute(attribute));
}

std::string ProtobufSpan(const OtlpSpan& span) {
  ProtobufMessage message;
  message.Bytes(1, span.trace_id).Bytes(2, span.span_id);
  if (!span.parent_id.empty()) message.Bytes(4, span.parent_id);
  message.Bytes(5, span.name).Varint(6, kInternal);
  message.Fixed64(7, static_cast<std::uint64_t>(span.begin));
  message.Fixed64(8, static_cast<std::uint64_t>(span.end));
  AddAttributes(message, 9, span.attributes);
  if (!span.error.empty()) message.Bytes(15, ProtobufMessage().Bytes(2, span.error).Varint(3, kError).Take());
  return message.Take();
}

std::string ProtobufPoint(const OtlpPoint& point) {
  ProtobufMessage message;
  if (point.start != 0) message.Fixed64(2, static_cast<std::uint64_t>(point.start));
  message.Fixed64(3, static_cast<std::uint64_t>(point.time)).Double(4, point.value);
  AddAttributes(message, 7, point.attributes);
  return message.Take();
}

std::string ProtobufRequest(const OtlpAttributes& resource, const std::vector<std::string>& items) {
  ProtobufMessage scoped;
  scoped.Bytes(1, ProtobufMessage().Bytes(1, kScope).Bytes(2, PACKAGE_VERSION).Take());
  for (const std::string& item : items) scoped.Bytes(2, item);
  ProtobufMessage described;
  AddAttributes(described, 1, resource);
  ProtobufMessage of;
  of.Bytes(1, described.Take()).Bytes(2, scoped.Take());
  return ProtobufMessage().Bytes(1, of.Take()).Take();
}

std::string ProtobufMetric(const OtlpMetric& metric) {
  ProtobufMessage data;
  for (const std::string& point : metric.points) data.Bytes(1, point);
  if (metric.is_sum) data.Varint(2, kCumulative).Varint(3, 1);
  return ProtobufMessage()
      .Bytes(1, metric.name)
      .Bytes(2, metric.description)
      .Bytes(3, metric.unit)
      .Bytes(metric.is_sum ? 7 : 5, data.Take())
      .Take();
}

// Reads one message's fields: numbers and bytes. Stops at what it cannot read.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}
  bool Next() {
    const std::optional<std::uint64_t> tag = text_.empty() ? std::nullopt : Number();
    if (!tag) return false;
    field = static_cast<int>(*tag >> 3U);
    const std::optional<std::uint64_t> read = Number();
    if (!read) return false;
    number = *read;
    if ((*tag & 7U) == 0) return true;
    if ((*tag & 7U) != 2 || number > text_.size()) return false;
    bytes = text_.substr(0, number);
    text_.remove_prefix(number);
    return true;
  }
  int field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  std::optional<std::uint64_t> Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !text_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text_.front());
      text_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::string_view text_;
};

PartialSuccess ReadProtobuf(std::string_view body) {
  PartialSuccess partial;
  Fields response(body);
  while (response.Next()) {
    if (response.field != 1) continue;
    Fields fields(response.bytes);
    while (fields.Next()) {
      if (fields.field == 1) partial.rejected = static_cast<std::int64_t>(fields.number);
      if (fields.field == 2) partial.message = std::string(fields.bytes);
    }
  }
  return partial;
}

std::int64_t IntegerOf(const simdjson::dom::object& object, const char* key) {
  std::int64_t number = 0;
  if (object[key].get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (object[key].get(text) != simdjson::SUCCESS || !absl::SimpleAtoi(ToAbsl(text), &number)) return 0;
  return number;
}

PartialSuccess ReadJson(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  PartialSuccess partial;
  const simdjson::padded_string padded(body);
  if (parser.parse(padded)["partialSuccess"].get(object) != simdjson::SUCCESS) return partial;
  partial.rejected = IntegerOf(object, "rejectedSpans") + IntegerOf(object, "rejectedDataPoints");
  std::string_view message;
  if (object["errorMessage"].get(message) == simdjson::SUCCESS) partial.message = std::string(message);
  return partial;
}

}  // namespace

std::string EncodeSpan(const OtlpSpan& span, OtlpProtocol protocol) {
  return protocol == OtlpProtocol::kJson ? JsonSpan(span) : ProtobufSpan(span);
}

std::string EncodePoint(const OtlpPoint& point, OtlpProtocol protocol) {
  return protocol == OtlpProtocol::kJson ? JsonPoint(point) : ProtobufPoint(point);
}

std::string TraceRequest(const OtlpAttributes& resource, const std::vector<std::string>& spans,
                         OtlpProtocol protocol) {
  return protocol == OtlpProtocol::kJson ? JsonRequest("Spans", resource, spans, "spans")
                                         : ProtobufRequest(resource, spans);
}

std::string MetricsRequest(const OtlpAttributes& resource, const std::vector<OtlpMetric>& metrics,
                           OtlpProtocol protocol) {
  const bool json = protocol == OtlpProtocol::kJson;
  std::vector<std::string> encoded;
  encoded.reserve(metrics.size());
  for (const OtlpMetric& metric : metrics)
    encoded.push_back(json ? JsonMetric(metric) : ProtobufMetric(metric));
  return json ? JsonRequest("Metrics", resource, encoded, "metrics") : ProtobufRequest(resource, encoded);
}

std::string_view ContentType(OtlpProtocol protocol) {
  return protocol == OtlpProtocol::kJson ? "application/json" : "application/x-protobuf";
}

PartialSuccess ReadPartialSuccess(std::string_view body, OtlpProtocol protocol) {
  return protocol == OtlpProtocol::kJson ? ReadJson(body) : ReadProtobuf(body);
}

std::string ReadStatusMessage(std::string_view body, OtlpProtocol protocol) {
  if (protocol == OtlpProtocol::kJson) {
    simdjson::dom::parser parser;
    std::string_view message;
    const simdjson::padded_string padded(body);
    return parser.parse(padded)["message"].get(message) == simdjson::SUCCESS ? std::string(message) : "";
  }
  std::string message;
  Fields status(body);
  while (status.Next()) {
    if (status.field == 2) message = std::string(status.bytes);
  }
  return message;
}

}  // namespace goodput
