#include "tools/accounting/timeline/pace.h"

#include <algorithm>

#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/step_painter.h"

namespace goodput {
namespace {

std::optional<Ns> FirstCompleteSave(const std::vector<const IncarnationFacts*>& programs) {
  std::optional<Ns> first;
  for (const IncarnationFacts* program : programs) {
    for (const Checkpoint& checkpoint : program->checkpoints) {
      if (checkpoint.complete) first = std::min(first.value_or(*checkpoint.complete), *checkpoint.complete);
    }
  }
  return first;
}

// Calls `take` with the duration of each of the record's steps that began before `from`.
template <typename Take>
void EachBefore(const StepRecord& step, Ns from, const StepReader* reader, const Take& take) {
  const std::vector<StepMark> marks = MarksOf(*step.block, reader);
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
    const std::int64_t count = marks[k + 1].train_step - marks[k].train_step;
    if (count > 0 && marks[k].t >= step.begin && marks[k].t < std::min(step.end, from))
      take((marks[k + 1].t - marks[k].t) / count);
  }
}

// The durations of whole steps that began at `from` or later. Reads only blocks that began before it and were
// not over by then, or have a save in them.
DurationHistogram WholeSteps(const IncarnationFacts& program, Ns from, const StepReader* reader) {
  // Steps that were placed at a rate were not measured.
  if (program.placed) return {};
  // Of all but the first and the last, which may not be whole.
  DurationHistogram durations = program.step_times;
  const std::int64_t usual = UsualCount(program.steps);
  for (std::size_t i = 1; i + 1 < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const StepBlock* block = step.block;
    // Another count than usual has a step that took no time of its own, since it was skipped.
    const bool counts = (block == nullptr ? step.count() : block->stride) == usual;
    const Ns first = counts ? from : kLatest;
    if (step.begin >= first) continue;
    if (block == nullptr) {
      durations.Remove(step.net / step.count());
    } else if (!step.part && step.end <= first) {
      durations.Remove(block->durations);
    } else {
      EachBefore(step, first, reader, [&](Ns duration) { durations.Remove(duration); });
    }
  }
  return durations;
}

bool HasSave(const IncarnationFacts& program, const StepRecord& step) {
  const auto save = std::lower_bound(program.saves.begin(), program.saves.end(), step.begin,
                                     [](const PhaseSpan& one, Ns t) { return one.begin < t; });
  return save != program.saves.end() && save->begin < step.end;
}

// What a kept record took as productive time, beyond the best.
Ns Excess(const StepRecord& step, const StepOutcome& fate, Ns usual, Ns best) {
  if (KeptSteps(fate, step) != step.count()) return 0;
  // Beyond this, it counts as compilation or a stall.
  constexpr std::int64_t kMostUsual = 2;
  const Ns productive = std::min(step.net, TimesAtMost(TimesAtMost(usual, step.count()), kMostUsual));
  return std::max<Ns>(0, productive - TimesAtMost(best, step.count()));
}

Pace::Start PaceOfStart(const IncarnationFacts& program, const StepOutcome& fate, Ns best) {
  Pace::Start start;
  const Ns usual = program.median_step.value_or(best);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    AddSteps(start.kept, KeptSteps(fate, step));
    if (i == 0) {
      // Beyond twice the usual, all of its excess is compilation.
      const bool compiles = step.net > TimesAtMost(TimesAtMost(usual, step.count()), 2);
      if (!compiles) start.first_step = Excess(step, fate, usual, best);
      continue;
    }
    if (!HasSave(program, program.steps[i - 1])) continue;
    start.steps_are_packed |= step.block != nullptr;
    if (step.block == nullptr) start.after_checkpoint += Excess(step, fate, usual, best);
  }
  return start;
}

}  // namespace

std::optional<Pace> MeasurePace(const std::vector<const IncarnationFacts*>& programs,
                                const std::vector<StepOutcome>& fates, const StepReader* reader) {
  DurationHistogram durations;
  if (const std::optional<Ns> saved = FirstCompleteSave(programs)) {
    for (const IncarnationFacts* program : programs) durations.Merge(WholeSteps(*program, *saved, reader));
  }
  if (durations.count() == 0) {
    for (const IncarnationFacts* program : programs) durations.Merge(WholeSteps(*program, 0, reader));
  }
  if (durations.count() == 0) return std::nullopt;
  Pace pace;
  constexpr std::int64_t kOneInTwenty = 20;
  pace.best = *durations.AtRank(0);
  pace.p05 = *durations.AtRank((durations.count() - 1) / kOneInTwenty);
  for (std::size_t i = 0; i < programs.size(); ++i)
    pace.starts.push_back(PaceOfStart(*programs[i], fates[i], pace.best));
  return pace;
}

}  // namespace goodput
