// Tells of the ranks beside the one whose spans are read (live_spans.h) only when they began and ended steps:
// enough to find the rank that others wait for (timeline/rank_wait.h). Begins within a RankBudget; ends,
// which only tell how clocks differ, of some steps.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "tools/sources/logs/log_sink.h"
#include "tools/sources/logs/rank_budget.h"
#include "tools/sources/otel/span.h"

namespace goodput {

class OtherRanks {
 public:
  static constexpr std::int64_t kAllEnds = 1024;  // until so many were told, all are
  static constexpr std::int64_t kEndOfSteps = 16;

  explicit OtherRanks(LogSink& sink) : sink_(sink) {}
  // Ignores spans that are not of a step. `offset` is followed by another that is the span's.
  absl::Status Take(std::int64_t rank, const Span& span, int attempt, std::int64_t offset);

 private:
  LogSink& sink_;
  RankBudget budget_;
  std::int64_t ends_ = 0;
};

}  // namespace goodput
