// The last step that began, of all starts of the program: how long ago is how long nothing was heard of it.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct LastStep {
  std::int64_t step = 0;
  Ns begin = 0;
};

// Nothing where no step began.
std::optional<LastStep> FindLastStep(const Timeline& timeline);

}  // namespace goodput
