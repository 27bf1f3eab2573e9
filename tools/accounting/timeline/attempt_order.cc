#include "tools/accounting/timeline/attempt_order.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace goodput {

std::vector<const AttemptFacts*> AttemptsInOrder(const RunFacts& facts) {
  std::vector<const AttemptFacts*> attempts;
  for (const AttemptFacts& attempt : facts.attempts) attempts.push_back(&attempt);
  // By the end of the wait, since a job of a chain is submitted before the requeue of the job for which it
  // waits. The sizes only make the order of contradictory duplicates deterministic.
  const auto key = [](const AttemptFacts* a) {
    const Ns over = a->start.value_or(a->end.value_or(INT64_MAX));
    return std::tuple(over, a->submit, a->job_id, a->start.has_value(), a->end.value_or(INT64_MAX),
                      std::string_view(a->state), a->step_marks.size(), a->marks.size(),
                      a->node_events.size(), a->pending.size());
  };
  std::sort(attempts.begin(), attempts.end(),
            [&](const AttemptFacts* a, const AttemptFacts* b) { return key(a) < key(b); });
  const auto same = [](const AttemptFacts* a, const AttemptFacts* b) {
    return a->submit == b->submit && a->job_id == b->job_id && a->start == b->start;
  };
  attempts.erase(std::unique(attempts.begin(), attempts.end(), same), attempts.end());
  return attempts;
}

void WarnOfOverlaps(const std::vector<const AttemptFacts*>& attempts, Ns now,
                    std::vector<std::string>& warnings) {
  const AttemptFacts* longest = nullptr;
  for (const AttemptFacts* attempt : attempts) {
    if (!attempt->start) continue;
    if (longest != nullptr && *attempt->start < longest->end.value_or(now)) {
      warnings.push_back("jobs " + std::to_string(longest->job_id) + " and " +
                         std::to_string(attempt->job_id) +
                         " ran at the same time, so they are not one run: give each its own --goodput-run");
    }
    if (longest == nullptr || attempt->end.value_or(now) > longest->end.value_or(now)) longest = attempt;
  }
}

}  // namespace goodput
