// How long an elastic program trained with how many GPUs, for a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct WorldSize {
  std::int64_t stepping = 0;
  std::int64_t wanted = 0;  // at least as many
  Ns ns = 0;                // of steps, whatever became of them
};

// The longest first. Time without marks of the world or declared spares is in none.
std::vector<WorldSize> ReadWorldSizes(const Timeline& timeline);

// "trained with 48 of 64 GPUs for 2h03m and 56 of 64 for 4m05s"; empty if it always had as many as it
// wanted.
std::string InWords(const std::vector<WorldSize>& sizes);

// Why the steps of an elastic program may have had different FLOPs, so that program goodput is not known;
// empty: all had the same number of GPUs, or say that they had the same tokens.
std::string WhyStepsMayDiffer(const Timeline& timeline);

}  // namespace goodput
