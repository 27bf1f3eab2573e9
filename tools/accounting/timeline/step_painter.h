// What the steps of one program claim of the timeline: kept, lost or at risk, and what of their time was no
// step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/attempt_painter.h"
#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/stop_signal.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Time of a step record in which it was not working, to be painted after `startup`.
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
  bool later_step;  // one was begun
};

// What the steps of a program are judged by. `run_median`: where its own is not known.
struct StepContext {
  const RunFacts* facts = nullptr;
  const StepOutcome* fate = nullptr;
  std::optional<Ns> run_median;
  TimelineOptions options;
  std::optional<StopRequest> stop;
  bool finished = false;
  // Until then what the program marked would have arrived; absent: nobody says so.
  std::optional<Ns> heard_until;
};

// Leaves only blocks of which all steps go the same way: kept or not, and none stalled.
void ExpandWhereStepsDiffer(Program& program, const StepOutcome& fate, std::optional<Ns> run_median,
                            const TimelineOptions& options, const StepReader* reader);

// Paints one incarnation's steps, counts them and notes its last ones; returns what of them was no step.
std::vector<Remainder> PaintSteps(Program& program, const StepContext& context, AttemptPainter& paint,
                                  StepCounts& counts);

// What the first step took beyond the mean of the others, where that is counted as productive. The last
// record is not like the others; of one that stalled only the step counts.
Ns FirstStepExcess(const Program& program, const StepOutcome& fate, const TimelineOptions& options);

// At most INT64_MAX: step numbers are a job's own word, and thousands of incarnations that claim 2^53 steps
// each must not wrap around.
void AddSteps(std::int64_t& sum, std::int64_t count);

}  // namespace goodput
