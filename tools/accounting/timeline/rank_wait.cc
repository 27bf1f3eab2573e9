#include "tools/accounting/timeline/rank_wait.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/step_painter.h"

namespace goodput {
namespace {

bool InStep(const Arrivals& arrivals) {
  constexpr std::int64_t kOneInTwenty = 20;
  return arrivals.out_of_step * kOneInTwenty <= arrivals.compared;
}

bool IsMark(const StepArrivals& step, const std::vector<EvidenceSource>& sources) {
  const auto source = static_cast<std::size_t>(step.last_mark.source);
  return step.last_mark.source >= 0 && sources[source].evidence == Evidence::kMark;
}

bool AreMarks(const Arrivals& arrivals, const std::vector<EvidenceSource>& sources) {
  return std::all_of(arrivals.late.begin(), arrivals.late.end(),
                     [&](const StepArrivals& step) { return IsMark(step, sources); });
}

// The record that the first task's begin of the step starts or lies in; null: none.
const StepRecord* RecordOf(const IncarnationFacts& program, const StepArrivals& step) {
  const auto after = std::upper_bound(program.steps.begin(), program.steps.end(), step.first,
                                      [](Ns t, const StepRecord& record) { return t < record.begin; });
  if (after == program.steps.begin()) return nullptr;
  const StepRecord& record = *std::prev(after);
  return step.train_step >= record.lo && step.train_step <= record.hi ? &record : nullptr;
}

bool IsKept(const IncarnationFacts& program, const StepOutcome& fate, const StepArrivals& step) {
  const StepRecord* record = RecordOf(program, step);
  return record != nullptr && record != &program.steps.front() &&
         step.train_step - record->lo < KeptSteps(fate, *record);
}

// Overhead between the first and the last begin may be what the last rank did: then nobody waited for it.
// What is beyond twice the usual step counts as a stall.
Ns ProductiveWait(const IncarnationFacts& program, const StepArrivals& step) {
  const Ns overhead = step.last - step.first - NetTime(program.cuts, step.first, step.last);
  const Ns most = program.median_step ? TimesAtMost(*program.median_step, 2) : kLatest;
  return std::clamp<Ns>(step.wait - overhead, 0, most);
}

using LateRanks = std::map<std::pair<int, Teller>, LateRank>;

void AddStart(const IncarnationFacts& program, const StepOutcome& fate, RankWait& total, LateRanks& late) {
  const int attempt = program.summary.attempt;
  for (const StepArrivals& step : program.arrivals.late) {
    if (!IsKept(program, fate, step)) continue;
    const Ns wait = ProductiveWait(program, step);
    if (wait == 0) continue;
    ++total.late_steps;
    total.longest = std::max(total.longest, step.last - step.first);
    total.of_start.back() += wait;
    LateRank& rank = late[{attempt, step.last_task}];
    rank.attempt = attempt;
    rank.task = step.last_task;
    rank.ref = step.last_mark;
    ++rank.steps;
    rank.wait += wait;
  }
}

}  // namespace

std::optional<RankWait> MeasureRankWait(const std::vector<const IncarnationFacts*>& programs,
                                        const std::vector<StepOutcome>& fates,
                                        const std::vector<EvidenceSource>& sources) {
  RankWait total;
  LateRanks late;
  std::int64_t compared = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Arrivals& arrivals = programs[i]->arrivals;
    if (!InStep(arrivals)) return std::nullopt;
    if (!AreMarks(arrivals, sources)) return std::nullopt;
    compared += arrivals.compared;
    total.ranks = std::max(total.ranks, arrivals.tasks);
    total.of_start.push_back(0);
    AddStart(*programs[i], fates[i], total, late);
  }
  if (compared == 0) return std::nullopt;
  for (auto& [key, rank] : late) total.late.push_back(rank);
  std::stable_sort(total.late.begin(), total.late.end(),
                   [](const LateRank& a, const LateRank& b) { return a.wait > b.wait; });
  return total;
}

}  // namespace goodput
