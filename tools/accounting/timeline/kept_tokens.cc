#include "tools/accounting/timeline/kept_tokens.h"

#include <algorithm>
#include <cstddef>

namespace goodput {
namespace {

using Spans = std::vector<WorldSpan>;

// The fewest tokens of the worlds of an attempt within [begin, end]; absent if one does not tell, or if a
// moment has no world.
std::optional<std::int64_t> TokensWithin(const Spans& worlds, int attempt, Ns begin, Ns end) {
  auto span = std::find_if(worlds.begin(), worlds.end(), [&](const WorldSpan& one) {
    return one.attempt == attempt && one.begin <= begin && one.end > begin;
  });
  std::optional<std::int64_t> fewest;
  Ns covered = begin;
  for (; span != worlds.end() && span->attempt == attempt && span->begin < std::max(end, begin + 1); ++span) {
    if (!span->tokens || span->begin > covered) return std::nullopt;
    fewest = fewest ? std::min(*fewest, *span->tokens) : *span->tokens;
    covered = span->end;
  }
  return covered >= end ? fewest : std::nullopt;
}

bool Changes(const Spans& worlds, int attempt, Ns begin, Ns end) {
  return std::any_of(worlds.begin(), worlds.end(), [&](const WorldSpan& one) {
    return one.attempt == attempt && one.begin > begin && one.begin < end;
  });
}

// Of the first `kept` steps of a record that stands for many marks.
std::optional<double> TokensOfBlock(const StepRecord& step, std::int64_t kept, int attempt,
                                    const Spans& worlds, const StepReader* reader) {
  std::vector<StepMark> marks = MarksOf(*step.block, reader);
  std::sort(marks.begin(), marks.end(), [](const StepMark& a, const StepMark& b) { return a.t < b.t; });
  double sum = 0;
  std::int64_t left = kept;
  std::int64_t next = step.lo;  // the step that is to be counted next
  for (std::size_t i = 0; i < marks.size() && left > 0; ++i) {
    if (marks[i].train_step < next || marks[i].t < step.begin || marks[i].t >= step.end) continue;
    const bool last = i + 1 == marks.size() || marks[i + 1].t >= step.end;
    const Ns end = last ? step.end : marks[i + 1].t;
    const std::int64_t until = last ? step.hi + 1 : std::min(marks[i + 1].train_step, step.hi + 1);
    const std::int64_t count = std::min(left, until - next);
    if (count <= 0) continue;
    const std::optional<std::int64_t> tokens = TokensWithin(worlds, attempt, marks[i].t, end);
    if (!tokens) return std::nullopt;
    sum += static_cast<double>(count) * static_cast<double>(*tokens);
    left -= count;
    next += count;
  }
  return left == 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<double> KeptTokens(const std::vector<const IncarnationFacts*>& programs,
                                 const std::vector<StepOutcome>& fates, const Spans& worlds,
                                 const StepReader* reader) {
  double sum = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const int attempt = programs[i]->summary.attempt;
    for (const StepRecord& step : programs[i]->steps) {
      const std::int64_t kept = KeptSteps(fates[i], step);
      if (kept == 0) continue;
      std::optional<double> of_step;
      if (step.block != nullptr && Changes(worlds, attempt, step.begin, step.end)) {
        of_step = TokensOfBlock(step, kept, attempt, worlds, reader);
      } else if (const auto tokens = TokensWithin(worlds, attempt, step.begin, step.end)) {
        of_step = static_cast<double>(kept) * static_cast<double>(*tokens);
      }
      if (!of_step) return std::nullopt;
      sum += *of_step;
    }
  }
  return sum;
}

}  // namespace goodput
