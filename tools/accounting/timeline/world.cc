#include "tools/accounting/timeline/world.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace goodput {
namespace {

// A program from its start until its processes end or are replaced.
struct Life {
  int attempt = 0;
  Ns begin = 0;
  Ns end = 0;
};

std::vector<Life> LivesOf(const std::vector<Incarnation>& incarnations) {
  std::vector<Life> lives;
  const Incarnation* before = nullptr;
  for (const Incarnation& one : incarnations) {
    const bool goes_on = before != nullptr && before->attempt == one.attempt &&
                         before->slurm_step == one.slurm_step && !before->replaced;
    if (!goes_on) lives.push_back({one.attempt, one.begin, one.end});
    lives.back().end = std::max(lives.back().end, one.end);
    before = &one;
  }
  return lives;
}

std::vector<WorldMark> InOrder(std::vector<WorldMark> marks) {
  const auto key = [](const WorldMark& mark) {
    return std::tuple(mark.t, mark.ref.source, mark.ref.offset, mark.stepping, mark.wanted, mark.spares,
                      mark.tokens);
  };
  std::sort(marks.begin(), marks.end(),
            [&](const WorldMark& a, const WorldMark& b) { return key(a) < key(b); });
  return marks;
}

bool Same(const WorldSpan& a, const WorldSpan& b) {
  return a.stepping == b.stepping && a.wanted == b.wanted && a.spares == b.spares && a.tokens == b.tokens;
}

// Adds what of the span is after the one before; programs of one attempt may run at the same time.
void Add(WorldSpan span, std::vector<WorldSpan>& spans) {
  WorldSpan* const last = spans.empty() || spans.back().attempt != span.attempt ? nullptr : &spans.back();
  if (last != nullptr) span.begin = std::max(span.begin, last->end);
  if (span.begin >= span.end) return;
  if (last != nullptr && last->end == span.begin && Same(*last, span)) {
    last->end = span.end;
  } else {
    spans.push_back(span);
  }
}

// Marks of an attempt, in order, within one life of its program; `after`: when the life before it ended.
void AddLife(const Life& life, Ns after, const AttemptFacts& attempt, const std::vector<WorldMark>& marks,
             const RunFacts& facts, std::vector<WorldSpan>& spans) {
  WorldSpan span;
  span.attempt = life.attempt;
  span.begin = life.begin;
  span.spares = attempt.spares.value_or(0);
  span.evidence = Evidence::kScheduler;  // the declaration
  bool split = span.spares > 0;
  for (const WorldMark& mark : marks) {
    if (mark.t < after || mark.t >= life.end) continue;
    span.end = std::max(mark.t, life.begin);
    if (split) Add(span, spans);
    split = true;
    span.begin = span.end;
    span.stepping = mark.stepping;
    span.wanted = mark.wanted;
    span.tokens = mark.tokens;
    span.spares = mark.spares.value_or(attempt.spares.value_or(0));
    span.evidence = mark.ref.source < 0 ? Evidence::kMark
                                        : facts.sources[static_cast<std::size_t>(mark.ref.source)].evidence;
    span.ref = mark.ref;
  }
  span.end = life.end;
  if (split) Add(span, spans);
}

}  // namespace

WorldShares SharesOf(const WorldSpan& span, std::int64_t allocated) {
  WorldShares shares;
  const std::int64_t spares = std::min(span.spares, allocated);
  shares.stepping = std::min(span.stepping.value_or(allocated - spares), allocated);
  shares.standby = std::min(spares, allocated - shares.stepping);
  shares.idle_member = allocated - shares.stepping - shares.standby;
  shares.missing = std::max<std::int64_t>(0, span.wanted.value_or(allocated) - allocated);
  return shares;
}

std::vector<WorldSpan> ReadWorlds(const RunFacts& facts, const std::vector<AttemptSummary>& attempts,
                                  const std::vector<Incarnation>& incarnations) {
  std::vector<WorldSpan> spans;
  const bool any = std::any_of(attempts.begin(), attempts.end(), [](const AttemptSummary& attempt) {
    return !attempt.facts->worlds.empty() || attempt.facts->spares.value_or(0) > 0;
  });
  if (!any) return spans;
  const std::vector<Life> lives = LivesOf(incarnations);
  int of_attempt = -1;
  Ns after = 0;
  std::vector<WorldMark> marks;
  for (const Life& life : lives) {
    const AttemptFacts& attempt = *attempts[static_cast<std::size_t>(life.attempt)].facts;
    if (life.attempt != of_attempt) {
      of_attempt = life.attempt;
      after = 0;
      marks = InOrder(attempt.worlds);
    }
    AddLife(life, after, attempt, marks, facts, spans);
    after = std::max(after, life.end);
  }
  return spans;
}

std::vector<std::string> WarningsOfWorlds(const std::vector<WorldSpan>& worlds,
                                          const std::vector<AttemptSummary>& attempts) {
  std::vector<std::string> warnings;
  int warned = -1;
  for (const WorldSpan& span : worlds) {
    const AttemptFacts& attempt = *attempts[static_cast<std::size_t>(span.attempt)].facts;
    int most = attempt.gpus;
    for (const Resize& resize : attempt.resizes) most = std::max(most, resize.gpus_before);
    if (most <= 0 || span.stepping.value_or(0) <= most || warned == span.attempt) continue;
    warned = span.attempt;
    warnings.push_back("job " + std::to_string(attempt.job_id) + ": a mark says that " +
                       std::to_string(*span.stepping) + " GPUs step, but the job had " +
                       std::to_string(most) + ": let the program mark GPUs, not processes or threads");
  }
  return warnings;
}

}  // namespace goodput
