#include "tools/accounting/timeline/withheld.h"

#include <algorithm>
#include <cstddef>

#include "tools/accounting/timeline/interruption.h"

namespace goodput {
namespace {

bool WasExpedited(const Interruption& interruption, const AttemptFacts& facts) {
  if (interruption.recovery.empty()) return IsExpedited(facts, interruption.cause);
  return interruption.recovery == "expedite";
}

// The attempt that follows, of the same job; null: there is none.
const AttemptFacts* NextOfJob(const Timeline& timeline, int attempt) {
  const auto next = static_cast<std::size_t>(attempt) + 1;
  if (next >= timeline.attempts.size()) return nullptr;
  const AttemptFacts& facts = *timeline.attempts[next].facts;
  return facts.job_id == timeline.attempts[next - 1].facts->job_id ? &facts : nullptr;
}

}  // namespace

std::vector<WithheldNodes> FindWithheldNodes(const Timeline& timeline) {
  std::vector<WithheldNodes> withheld;
  for (const Interruption& interruption : timeline.interruptions) {
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interruption.attempt)].facts;
    const AttemptFacts* const next = NextOfJob(timeline, interruption.attempt);
    if (next == nullptr || !facts.end || !WasExpedited(interruption, facts)) continue;
    const Ns end = next->start.value_or(next->end.value_or(timeline.end));
    if (*facts.end < end) withheld.push_back({interruption.attempt, *facts.end, end});
  }
  return withheld;
}

}  // namespace goodput
