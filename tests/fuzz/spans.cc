// Fuzzes spans of OpenTelemetry: those that are read have times, and whatever they are, what becomes of them
// lies within their time and has offsets that belong to them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/sources/otel/span_fold.h"
#include "tools/sources/otel/span_survey.h"
#include "tools/sources/otel/span_text.h"

namespace {

using namespace goodput;

class Sink final : public LogSink {
 public:
  absl::Status Step(Ns t, std::int64_t step, const Speaker& /*speaker*/, std::int64_t /*offset*/) override {
    Check(t);
    REQUIRE(step >= 1 && step <= kMaxTrainStep);
    return absl::OkStatus();
  }
  absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t /*offset*/) override {
    Check(mark.t);
    REQUIRE(speaker.task >= 0);
    REQUIRE(!mark.step || (*mark.step >= 0 && *mark.step <= kMaxTrainStep));
    return absl::OkStatus();
  }
  absl::Status Srun(const LogSrun& /*srun*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) override {
    return absl::OkStatus();
  }
  absl::Status Attempt(const LogAttempt& attempt) override {
    REQUIRE(attempt.begin <= attempt.end);
    return absl::OkStatus();
  }

  Ns first = INT64_MAX;
  Ns last = 0;

 private:
  void Check(Ns t) const { REQUIRE(t >= first && t <= last); }
};

}  // namespace

FUZZ_TARGET(spans) {
  std::string padded(reinterpret_cast<const char*>(data), size);
  padded.append(SpanParser::kPadding, '}');
  SpanParser parser;
  SpanSurvey survey;
  Sink sink;
  std::vector<std::pair<SpanProcess, Span>> spans;
  const auto count = parser.Parse(std::string_view(padded).substr(0, size),
                                  [&](const SpanProcess& process, const Span& span, std::int64_t index) {
                                    REQUIRE(index >= 0);
                                    REQUIRE(span.start > 0 && span.start <= span.end && span.end < kLatest);
                                    survey.See(process, span);
                                    sink.first = std::min(sink.first, span.start);
                                    sink.last = std::max(sink.last, span.end);
                                    spans.emplace_back(process, span);
                                  });
  if (count.ok()) REQUIRE(count->spans == count->bad + static_cast<std::int64_t>(spans.size()));
  survey.Choose();
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.second.start < b.second.start; });
  SpanFold fold(sink);
  std::int64_t offset = 0;
  for (std::size_t start = 0; start < survey.starts().size(); ++start) {
    REQUIRE(fold.Begin(survey.starts()[start].attempt, survey.starts()[start].tells_steps).ok());
    for (const auto& [process, span] : spans) {
      if (survey.StartOf(process, span) == start) REQUIRE(fold.Take(span, offset += SpanFold::kOffsets).ok());
    }
  }
  REQUIRE(fold.Finish().ok());
  return 0;
}
