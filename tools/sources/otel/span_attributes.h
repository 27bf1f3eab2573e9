// Makes a span of what a text or a message says of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sources/otel/span.h"

namespace goodput {

// An attribute's value, as far as spans of training have such.
struct SpanValue {
  // Saves in one finalize; more is not from a training program.
  static constexpr std::size_t kMostNumbers = 4096;

  std::optional<std::int64_t> number;  // also of a text that is one
  std::optional<bool> flag;
  std::string_view text;
  std::vector<std::int64_t> numbers;
};

std::optional<std::int64_t> NumberOf(std::string_view text);

void SetAttribute(std::string_view key, SpanValue value, Span& span);

// False: it has no name or no plausible times.
bool SetNameAndTimes(std::string_view name, std::optional<Ns> start, std::optional<Ns> end, Span& span);

// Collects the attributes of a resource, whose texts must live until Finish.
class ProcessReader {
 public:
  void Set(std::string_view key, const SpanValue& value);
  SpanProcess Finish();

 private:
  SpanProcess process_;
  std::string_view host_;
  std::string_view instance_;
  std::optional<std::int64_t> pid_;
};

}  // namespace goodput
