#include "tools/sources/otel/span_text.h"

#include <simdjson.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sql/text.h"
#include "tools/sources/otel/span_attributes.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

std::string_view Text(const dom::object& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

using Value = SpanValue;

// The console exporter prints plain JSON, OTLP an object that names its type.
Value PlainValue(const dom::element& element);

Value TypedValue(const dom::object& object) {
  Value value;
  for (const auto& [type, inner] : object) {
    if (type == "arrayValue") {
      dom::array items;
      if (inner["values"].get(items) != simdjson::SUCCESS) continue;
      for (const dom::element item : items) {
        dom::object typed;
        if (item.get(typed) != simdjson::SUCCESS || value.numbers.size() >= SpanValue::kMostNumbers) continue;
        std::string_view text;
        std::int64_t number = 0;
        if (typed["intValue"].get(text) == simdjson::SUCCESS) {
          if (const auto read = NumberOf(text)) value.numbers.push_back(*read);
        } else if (typed["intValue"].get(number) == simdjson::SUCCESS) {
          value.numbers.push_back(number);
        }
      }
    } else if (type == "intValue" || type == "stringValue" || type == "boolValue") {
      value = PlainValue(inner);
    }
  }
  return value;
}

Value PlainValue(const dom::element& element) {
  Value value;
  bool flag = false;
  std::int64_t number = 0;
  dom::array items;
  if (element.get(flag) == simdjson::SUCCESS) value.flag = flag;
  if (element.get(number) == simdjson::SUCCESS) value.number = number;
  if (element.get(value.text) == simdjson::SUCCESS) value.number = NumberOf(value.text);
  if (element.get(items) == simdjson::SUCCESS) {
    for (const dom::element item : items) {
      if (item.get(number) == simdjson::SUCCESS && value.numbers.size() < SpanValue::kMostNumbers)
        value.numbers.push_back(number);
    }
  }
  return value;
}

template <typename Each>
void EachPlain(const dom::object& attributes, const Each& each) {
  for (const auto& [key, value] : attributes) each(key, PlainValue(value));
}

template <typename Each>
void EachTyped(const dom::array& attributes, const Each& each) {
  for (const dom::element item : attributes) {
    dom::object attribute;
    dom::object value;
    if (item.get(attribute) == simdjson::SUCCESS && attribute["value"].get(value) == simdjson::SUCCESS)
      each(Text(attribute, "key"), TypedValue(value));
  }
}

std::optional<Ns> IsoTime(std::string_view text) {
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &ignored)) return std::nullopt;
  return absl::ToUnixNanos(time);
}

std::optional<Ns> UnixTime(const dom::object& object, std::string_view key) {
  std::string_view text;
  if (object[key].get(text) == simdjson::SUCCESS) return NumberOf(text);
  std::int64_t number = 0;
  if (object[key].get(number) == simdjson::SUCCESS) return number;
  return std::nullopt;
}

void TakeConsoleSpan(const dom::object& object, const SpanParser::Take& take, SpanParser::Count& count) {
  Span span;
  ++count.spans;
  if (!SetNameAndTimes(Text(object, "name"), IsoTime(Text(object, "start_time")),
                       IsoTime(Text(object, "end_time")), span)) {
    ++count.bad;
    return;
  }
  dom::object inner;
  if (object["status"].get(inner) == simdjson::SUCCESS) span.error = Text(inner, "status_code") == "ERROR";
  if (object["attributes"].get(inner) == simdjson::SUCCESS) {
    EachPlain(inner, [&](std::string_view key, Value value) { SetAttribute(key, std::move(value), span); });
  }
  ProcessReader process;
  if (object["resource"].get(inner) == simdjson::SUCCESS &&
      inner["attributes"].get(inner) == simdjson::SUCCESS) {
    EachPlain(inner, [&](std::string_view key, const Value& value) { process.Set(key, value); });
  }
  take(process.Finish(), span, count.spans - 1);
}

void TakeOtlpSpan(const dom::object& object, const SpanProcess& process, const SpanParser::Take& take,
                  SpanParser::Count& count) {
  Span span;
  ++count.spans;
  if (!SetNameAndTimes(Text(object, "name"), UnixTime(object, "startTimeUnixNano"),
                       UnixTime(object, "endTimeUnixNano"), span)) {
    ++count.bad;
    return;
  }
  // The number or the name of STATUS_CODE_ERROR.
  constexpr std::int64_t kError = 2;
  dom::object status;
  if (object["status"].get(status) == simdjson::SUCCESS) {
    std::int64_t code = 0;
    span.error = status["code"].get(code) == simdjson::SUCCESS ? code == kError
                                                               : Text(status, "code") == "STATUS_CODE_ERROR";
  }
  dom::array attributes;
  if (object["attributes"].get(attributes) == simdjson::SUCCESS) {
    EachTyped(attributes,
              [&](std::string_view key, Value value) { SetAttribute(key, std::move(value), span); });
  }
  take(process, span, count.spans - 1);
}

void TakeResource(const dom::element& element, const SpanParser::Take& take, SpanParser::Count& count) {
  ProcessReader reader;
  dom::array attributes;
  if (element["resource"]["attributes"].get(attributes) == simdjson::SUCCESS)
    EachTyped(attributes, [&](std::string_view key, const Value& value) { reader.Set(key, value); });
  const SpanProcess process = reader.Finish();
  dom::array scopes;
  if (element["scopeSpans"].get(scopes) != simdjson::SUCCESS) return;
  for (const dom::element scope : scopes) {
    dom::array spans;
    if (scope["spans"].get(spans) != simdjson::SUCCESS) continue;
    for (const dom::element span : spans) {
      dom::object object;
      if (span.get(object) == simdjson::SUCCESS) TakeOtlpSpan(object, process, take, count);
    }
  }
}

}  // namespace

struct SpanParser::Impl {
  dom::parser parser;
};

SpanParser::SpanParser() : impl_(std::make_unique<Impl>()) {}
SpanParser::~SpanParser() = default;

absl::StatusOr<SpanParser::Count> SpanParser::Parse(std::string_view text, const Take& take) {
  dom::object object;
  if (impl_->parser.parse(text.data(), text.size(), false).get(object) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not a JSON object");
  Count count;
  dom::array resources;
  if (object["resourceSpans"].get(resources) == simdjson::SUCCESS) {
    for (const dom::element resource : resources) TakeResource(resource, take, count);
  } else if (object["name"].error() == simdjson::SUCCESS &&
             object["start_time"].error() == simdjson::SUCCESS) {
    TakeConsoleSpan(object, take, count);
  }
  return count;
}

}  // namespace goodput
