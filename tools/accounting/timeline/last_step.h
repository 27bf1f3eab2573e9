// Finds the last step that began, over all starts of the program.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct LastStep {
  std::int64_t step = 0;
  Ns begin = 0;
};

// Absent if no step began.
std::optional<LastStep> FindLastStep(const Timeline& timeline);

}  // namespace goodput
