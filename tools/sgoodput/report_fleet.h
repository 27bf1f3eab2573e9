// `sgoodput report --fleet`.
#pragma once

#include "tools/sgoodput/options.h"

namespace goodput {

int RunFleet(const RollupOptions& options);

}  // namespace goodput
