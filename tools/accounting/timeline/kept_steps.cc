#include "tools/accounting/timeline/kept_steps.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace goodput {

namespace {

constexpr std::int64_t kNone = INT64_MAX;

// Of the programs after the one that is judged.
struct Later {
  // The smallest first step of those of the same training; kNone: there are none.
  std::int64_t resumed_at = kNone;
  int resumed_by = 0;
  std::int64_t furthest = -1;   // the largest step of these in the next one's allocation
  const Ended* next = nullptr;  // with steps

  void Add(const Ended& ended) {
    const Incarnation& summary = ended.program->summary;
    std::int64_t first = kNone;
    if (!ended.program->steps.empty()) first = ended.program->steps.front().lo;
    // A log that prints every tenth step names the first too late. A higher label than the first step that
    // ran only means another way of counting: repeated steps were not kept.
    if (summary.restored_step) first = std::min(first, *summary.restored_step + 1);
    if (first < resumed_at) {
      resumed_at = first;
      resumed_by = summary.attempt;
    }
    if (ended.program->steps.empty()) return;
    if (next == nullptr || next->allocation != ended.allocation) furthest = -1;
    furthest = std::max(furthest, summary.last_step.value_or(-1));
    next = &ended;
  }
};

enum class Next : std::uint8_t { kSameTraining, kAnother, kUnknown };

// What the next program with steps does.
Next NextOf(const Ended& ended, const Later& later) {
  const Incarnation& summary = ended.program->summary;
  if (ended.program->steps.empty() || later.next == nullptr) return Next::kSameTraining;
  // Programs count from 0 or 1.
  const std::int64_t first = ended.program->steps.front().lo == 0 ? 0 : 1;
  const bool begins = later.next->program->steps.front().lo <= first;
  if (!begins || later.next->allocation != ended.allocation) return Next::kSameTraining;
  if (ended.finished) return Next::kAnother;
  if (summary.exit_code || summary.exit_signal || ended.unfinished) return Next::kSameTraining;
  if (ended.completed && later.furthest <= summary.last_step.value_or(-1)) return Next::kAnother;
  // A launcher replaces a worker that failed.
  return summary.replaced ? Next::kSameTraining : Next::kUnknown;
}

// By its own saves.
StepOutcome OutcomeOfLast(const IncarnationFacts& program, bool goes_on, Next next) {
  StepOutcome fate;
  const bool running = !program.summary.ended;
  const bool unseen = !program.saves_unseen.empty();
  const bool unknown = next == Next::kUnknown;
  fate.uncovered = running || goes_on || unseen || unknown ? Bucket::kAtRisk : Bucket::kLostWork;
  fate.why = unseen    ? "it is not known whether it was saved: " + program.saves_unseen
             : running ? "no complete checkpoint covers it yet"
             : unknown
                 ? "the next start began with the first step: it is not known whether this one had finished"
             : goes_on ? "no complete checkpoint covers it, and the run has not resumed yet"
                       : "no complete checkpoint covers it";
  for (const Checkpoint& checkpoint : program.checkpoints) {
    // Includes one completed after the attempt's end: tasks live on for a while when Slurm ends them.
    if (checkpoint.complete) {
      fate.covered_until = std::max(fate.covered_until.value_or(checkpoint.begin), checkpoint.begin);
    }
  }
  return fate;
}

}  // namespace

std::vector<StepOutcome> DecideOutcomes(const std::vector<Ended>& programs, bool goes_on) {
  std::vector<StepOutcome> fates(programs.size());
  Later later;
  for (std::size_t i = programs.size(); i-- > 0;) {
    const Ended& ended = programs[i];
    StepOutcome& fate = fates[i];
    const Next next = NextOf(ended, later);
    if (next != Next::kSameTraining) {
      later.resumed_at = kNone;
      later.furthest = -1;
    }
    if (later.resumed_at != kNone) {
      fate.rule = StepOutcome::Rule::kResumedAt;
      fate.kept_below = later.resumed_at;
      fate.why = "attempt " + std::to_string(later.resumed_by + 1) + " resumed at step " +
                 std::to_string(later.resumed_at);
    } else if (ended.finished || next == Next::kAnother) {
      fate.rule = StepOutcome::Rule::kFinished;
    } else {
      fate = OutcomeOfLast(*ended.program, goes_on, next);
    }
    fate.training_ends = next != Next::kSameTraining;
    later.Add(ended);
  }
  return fates;
}

void SettleUntoldSteps(const StepOutcome& fate, IncarnationFacts& program) {
  if (program.steps.empty()) return;
  StepRecord& last = program.steps.back();
  if (fate.rule == StepOutcome::Rule::kFinished && last.in_flight) {
    program.steps.pop_back();
    return;
  }
  if (!last.may_be_more) return;
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
