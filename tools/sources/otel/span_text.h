// Reads spans from JSON, as OpenTelemetry's console exporter and its collector write them:
//
//   {"name": "megatron.train.iteration", "context": {...}, "start_time": "2026-09-21T07:00:00.123456Z", ...,
//    "status": {"status_code": "OK"}, "attributes": {...}, "resource": {"attributes": {...}}}
//   {"resourceSpans": [{"resource": {"attributes": [{"key": "dl.rank", "value": {"intValue": "0"}}]},
//                       "scopeSpans": [{"spans": [{"name": ..., "startTimeUnixNano": "...", ...}]}]}]}
//
// Other JSON objects (metrics, logs) have no spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/sources/otel/span.h"

namespace goodput {

class SpanParser {
 public:
  // Number of bytes after the text that must be readable, whatever they contain.
  static constexpr std::size_t kPadding = 64;

  // `index` counts the spans of a text from 0. The arguments are valid during the call.
  using Take = std::function<void(const SpanProcess& process, const Span& span, std::int64_t index)>;
  struct Count {
    std::int64_t spans = 0;  // including those of kind kOther, with which `take` is also called
    std::int64_t bad = 0;    // spans without a name or times
  };

  SpanParser();
  ~SpanParser();
  // An error says in a few words what is wrong; `take` may have been called.
  absl::StatusOr<Count> Parse(std::string_view text, const Take& take);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
