// Paints the steps of one program: kept, lost or at risk, and the part of their time in which no step ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/attempt_painter.h"
#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/stop_signal.h"
#include "tools/accounting/timeline/timeline_parts.h"

namespace goodput {

// Time of a step record without work, to be painted after `startup`.
struct Remainder {
  Ns begin;
  Ns end;
  Bucket bucket;
  std::string why;
  Evidence evidence;
  EvidenceRef from;
  EvidenceRef to;
  std::int64_t step;
  Ns last_progress;
  bool later_step;  // a later step began
};

// The information by which the steps of a program are judged. `run_median`: used if its own is unknown.
struct StepContext {
  const RunFacts* facts = nullptr;
  const StepOutcome* fate = nullptr;
  std::optional<Ns> run_median;
  TimelineOptions options;
  std::optional<StopRequest> stop;
  bool finished = false;
  // Until then, marks of the program would have arrived; absent: unknown.
  std::optional<Ns> heard_until;
};

// Splits blocks so that all steps of a block have the same outcome: kept or not, and none stalled.
void ExpandWhereStepsDiffer(IncarnationFacts& program, const StepOutcome& fate, std::optional<Ns> run_median,
                            const TimelineOptions& options, const StepReader* reader);

// Paints one incarnation's steps, counts them and notes its last ones; returns the time in which no step ran.
std::vector<Remainder> PaintSteps(IncarnationFacts& program, const StepContext& context,
                                  AttemptPainter& paint, StepCounts& counts);

// What the first step took beyond the mean of the others, as far as it counts as productive. The last record
// is not comparable with the others; of a stalled step, only the normal part counts.
Ns FirstStepExcess(const IncarnationFacts& program, const StepOutcome& fate, const TimelineOptions& options);

// Saturates at INT64_MAX: jobs choose their step numbers, and thousands of incarnations that claim 2^53 steps
// each must not overflow.
void AddSteps(std::int64_t& sum, std::int64_t count);

}  // namespace goodput
