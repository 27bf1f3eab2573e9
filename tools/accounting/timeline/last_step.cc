#include "tools/accounting/timeline/last_step.h"

#include <algorithm>

namespace goodput {

std::optional<LastStep> FindLastStep(const Timeline& timeline) {
  const auto last = std::find_if(timeline.incarnations.rbegin(), timeline.incarnations.rend(),
                                 [](const Incarnation& one) { return one.last_step && one.last_step_begin; });
  if (last == timeline.incarnations.rend()) return std::nullopt;
  return LastStep{*last->last_step, *last->last_step_begin};
}

}  // namespace goodput
