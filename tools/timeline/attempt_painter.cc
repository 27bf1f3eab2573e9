#include "tools/timeline/attempt_painter.h"

#include <algorithm>
#include <utility>

namespace goodput {

void AttemptPainter::Paint(Ns begin, Ns end, Bucket bucket, std::string_view part, Evidence evidence,
                           EvidenceRef from, EvidenceRef to, std::string why) {
  painter_.Paint({std::max(begin, allocation_.begin), std::min(end, allocation_.end), bucket,
                  std::string(part), evidence, index_, from, to, std::move(why)});
}

Evidence EvidenceOf(const RunFacts& facts, const EvidenceRef& ref) {
  const auto source = static_cast<std::size_t>(ref.source);
  return ref.source >= 0 && source < facts.sources.size() ? facts.sources[source].evidence : Evidence::kMark;
}

Evidence EvidenceOf(const RunFacts& facts, const StepRecord& step) {
  return step.evidence ? *step.evidence : EvidenceOf(facts, step.ref);
}

void PaintAllocationPhases(const AttemptFacts& attempt, const Allocation& allocation, AttemptPainter& paint) {
  for (const Suspension& suspension : attempt.suspended) {
    paint.Paint(suspension.begin, suspension.end, Bucket::kSuspended, "",
                suspension.placed ? attempt.evidence : Evidence::kInferred, {}, {},
                suspension.placed ? "" : "for how long is known, not when");
  }
  if (allocation.ready) {
    paint.Paint(allocation.begin, *allocation.ready, Bucket::kProvisioning, "", Evidence::kScheduler, {},
                allocation.ready_ref);
  }
  if (allocation.teardown) {
    paint.Paint(*allocation.teardown, allocation.end, Bucket::kTeardown, "", Evidence::kScheduler,
                allocation.teardown_ref);
  }
  if (allocation.lives.empty()) return;
  Ns from = allocation.ready.value_or(allocation.begin);
  const Ns until = allocation.teardown.value_or(allocation.end);
  for (const TimeSpan& alive : AliveSpans(attempt, allocation, ProgramSteps(attempt, allocation))) {
    paint.Paint(from, alive.begin, Bucket::kLaunch, "", Evidence::kScheduler);
    from = std::max(from, alive.end);
  }
  paint.Paint(from, until, Bucket::kLaunch, "", Evidence::kScheduler);
}

void PaintPhases(const std::vector<PhaseSpan>& phases, Bucket bucket, const RunFacts& facts,
                 AttemptPainter& paint) {
  for (const PhaseSpan& phase : phases) {
    paint.Paint(phase.begin, phase.end, bucket, phase.name,
                phase.evidence ? *phase.evidence : EvidenceOf(facts, phase.from), phase.from, phase.to);
  }
}

void PaintStartup(const Program& program, bool instrumented, const RunFacts& facts, AttemptPainter& paint) {
  PaintPhases(program.startup_parts, Bucket::kStartup, facts, paint);
  const Incarnation& summary = program.summary;
  if (summary.first_step_begin) {
    paint.Paint(summary.begin, *summary.first_step_begin, Bucket::kStartup, "",
                EvidenceOf(facts, program.steps.front()), {}, program.steps.front().ref);
    return;
  }
  const bool exit_seen = summary.exit_code || summary.exit_signal;
  if (instrumented && summary.ended && exit_seen) {
    paint.Paint(summary.begin, summary.end, Bucket::kStartup, "", Evidence::kScheduler, {}, {},
                "it ended before its first step");
  } else if (program.last_evidence) {
    paint.Paint(summary.begin, *program.last_evidence, Bucket::kStartup, "", Evidence::kMark);
  }
}

}  // namespace goodput
