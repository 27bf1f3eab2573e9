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
      if (first && checkpoint.begin >= *first) break;  // they are by begin
      if (checkpoint.complete) first = std::min(first.value_or(*checkpoint.complete), *checkpoint.complete);
    }
  }
  return first;
}

// Calls `take` with the duration of each of the record's steps that began before `from`, without saves.
template <typename Take>
void EachBefore(const IncarnationFacts& program, const StepRecord& step, Ns from, const StepReader* reader,
                const Take& take) {
  const std::vector<StepMark> marks = MarksOf(*step.block, reader);
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
    const std::int64_t count = marks[k + 1].train_step - marks[k].train_step;
    if (count > 0 && marks[k].t >= step.begin && marks[k].t < std::min(step.end, from))
      take((marks[k + 1].t - marks[k].t - TimeOfSaves(program.whole_saves, marks[k].t, marks[k + 1].t)) /
           count);
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
      EachBefore(program, step, first, reader, [&](Ns duration) { durations.Remove(duration); });
    }
  }
  return durations;
}

// Whether a save began in the record, or in its last step.
bool EndsWithSave(const IncarnationFacts& program, const StepRecord& step) {
  if (step.block != nullptr) return step.part && step.saved;
  const auto whole = program.whole_saves.FirstAt(step.begin);
  if (whole != program.whole_saves.end() && whole->begin < step.end) return true;
  const auto save = std::lower_bound(program.saves.begin(), program.saves.end(), step.begin,
                                     [](const PhaseSpan& one, Ns t) { return one.begin < t; });
  return save != program.saves.end() && save->begin < step.end;
}

// What `count` kept steps of a record took as productive time, beyond the best. `net`: what they took.
Ns Excess(Ns net, std::int64_t count, Ns usual, Ns best) {
  // Beyond this, it counts as compilation or a stall.
  constexpr std::int64_t kMostUsual = 2;
  const Ns productive = std::min(net, TimesAtMost(TimesAtMost(usual, count), kMostUsual));
  return std::max<Ns>(0, productive - TimesAtMost(best, count));
}

// What the steps of a record took beyond the best that followed one with a save. `after_save`: the record
// did.
Ns ExcessAfterSaves(const IncarnationFacts& program, const StepRecord& step, bool after_save, Ns usual,
                    Ns best) {
  if (step.block == nullptr) return after_save ? Excess(step.net, step.count(), usual, best) : 0;
  const std::int64_t count = step.block->stride;
  Ns sum = after_save ? Excess(step.first_net, count, usual, best) : 0;
  for (std::size_t i = 0; i < step.after_saves; ++i)
    sum += Excess(program.parts.after_saves[step.first_after_save + i], count, usual, best);
  return sum;
}

Pace::Start PaceOfStart(const IncarnationFacts& program, const StepOutcome& fate, Ns best) {
  Pace::Start start;
  const Ns usual = program.median_step.value_or(best);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const std::int64_t kept = KeptSteps(fate, step);
    AddSteps(start.kept, kept);
    const bool all = kept == step.count();
    if (i == 0) {
      // Beyond twice the usual, all of its excess is compilation.
      const bool compiles = step.net > TimesAtMost(TimesAtMost(usual, step.count()), 2);
      if (!compiles && all) start.first_step = Excess(step.net, step.count(), usual, best);
      continue;
    }
    const bool after_save = EndsWithSave(program, program.steps[i - 1]);
    // Of a block that was not read, what its first step took is not known.
    if (after_save && step.block != nullptr && !step.part)
      start.steps_are_packed = true;
    else if (all)
      start.after_checkpoint += ExcessAfterSaves(program, step, after_save, usual, best);
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
