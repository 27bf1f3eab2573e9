#include "tools/sources/otel/other_ranks.h"

#include "sql/status_macros.h"
#include "tools/base/time.h"

namespace goodput {

absl::Status OtherRanks::Take(std::int64_t rank, const Span& span, int attempt, std::int64_t offset) {
  if (span.kind != Span::Kind::kIteration || !span.iteration || span.skipped.value_or(false))
    return absl::OkStatus();
  budget_.See(rank, Seconds(span.end - span.start));
  const std::int64_t step = *span.iteration + 1;
  if (step % budget_.every() != 0) return absl::OkStatus();
  Speaker speaker;
  speaker.attempt = attempt;
  speaker.rank = rank;
  RETURN_IF_ERROR(sink_.Step(span.start, step, speaker, offset));
  const bool whole = span.skipped.has_value() && !span.error;
  if (!whole || (ends_ >= kAllEnds && step % (budget_.every() * kEndOfSteps) != 0)) return absl::OkStatus();
  ++ends_;
  const LogMark end{span.end, PackedMark::Kind::kStepEnd, false, step, kMayBeMore};
  return sink_.Mark(end, speaker, offset + 1);
}

}  // namespace goodput
