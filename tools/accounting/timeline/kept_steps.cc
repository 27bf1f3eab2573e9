#include "tools/accounting/timeline/kept_steps.h"

#include <algorithm>
#include <string>

namespace goodput {

std::vector<StepOutcome> DecideOutcomes(const std::vector<const IncarnationFacts*>& programs,
                                        const std::vector<bool>& finished, bool goes_on) {
  std::vector<StepOutcome> fates(programs.size());
  std::optional<std::int64_t> resumed_at;  // the smallest first step of all later incarnations
  int resumed_by = 0;
  for (std::size_t i = programs.size(); i-- > 0;) {
    const IncarnationFacts& program = *programs[i];
    StepOutcome& fate = fates[i];
    if (resumed_at) {
      fate.rule = StepOutcome::Rule::kResumedAt;
      fate.kept_below = *resumed_at;
      fate.why =
          "attempt " + std::to_string(resumed_by + 1) + " resumed at step " + std::to_string(*resumed_at);
    } else if (finished[i]) {
      fate.rule = StepOutcome::Rule::kFinished;
    } else {
      const bool running = !program.summary.ended;
      const bool unseen = !program.saves_unseen.empty();
      fate.uncovered = running || goes_on || unseen ? Bucket::kAtRisk : Bucket::kLostWork;
      fate.why = unseen    ? "it is not known whether it was saved: " + program.saves_unseen
                 : running ? "no complete checkpoint covers it yet"
                 : goes_on ? "no complete checkpoint covers it, and the run has not resumed yet"
                           : "no complete checkpoint covers it";
      for (const Checkpoint& checkpoint : program.checkpoints) {
        // Includes one completed after the attempt's end: tasks live on for a while when Slurm ends them.
        if (checkpoint.complete) {
          fate.covered_until = std::max(fate.covered_until.value_or(checkpoint.begin), checkpoint.begin);
        }
      }
    }
    std::optional<std::int64_t> first;
    if (!program.steps.empty()) first = program.steps.front().lo;
    // A log that prints every tenth step names the first too late. A higher label than the first step that
    // ran only means another way of counting: repeated steps were not kept.
    if (program.summary.restored_step)
      first = std::min(first.value_or(INT64_MAX), *program.summary.restored_step + 1);
    if (first && (!resumed_at || *first < *resumed_at)) {
      resumed_at = first;
      resumed_by = program.summary.attempt;
    }
  }
  return fates;
}

void SettleUntoldSteps(const StepOutcome& fate, IncarnationFacts& program) {
  if (program.steps.empty() || !program.steps.back().may_be_more) return;
  StepRecord& last = program.steps.back();
  if (fate.rule == StepOutcome::Rule::kFinished) {
    program.steps.pop_back();
    return;
  }
  const Ns usual = program.median_step.value_or(0);
  // After that long, it would have reported them.
  if (usual <= 0 || last.net > kReportDelay) return;
  last.hi = last.lo + std::max<Ns>(last.net - 1, 0) / usual;
  // Steps differ, but not by so much.
  constexpr std::int64_t kMostPerUsual = 2;
  if (fate.rule == StepOutcome::Rule::kResumedAt && fate.kept_below > last.hi)
    last.hi = std::min(fate.kept_below - 1, last.lo + kMostPerUsual * last.count());
}

std::int64_t KeptSteps(const StepOutcome& fate, const StepRecord& step) {
  switch (fate.rule) {
    case StepOutcome::Rule::kFinished:
      return step.count();
    case StepOutcome::Rule::kResumedAt:
      return std::clamp<std::int64_t>(fate.kept_below - step.lo, 0, step.count());
    case StepOutcome::Rule::kCheckpoints:
      return fate.covered_until && step.work_end <= *fate.covered_until ? step.count() : 0;
  }
  return 0;
}

}  // namespace goodput
