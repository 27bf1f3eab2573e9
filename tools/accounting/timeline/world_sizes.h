// How long an elastic program trained with how many GPUs, for a report.
#pragma once

#include <cstdint>
#include <optional>
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

// The tokens that the kept steps of an elastic run trained, beside those that a step of the declared model
// trains: what its FLOPs per step must be multiplied with. Absent: the tokens did not change, or are
// not known for every kept step, or no world trained as many as the declared step, so that the marks may
// count something else, such as samples.
std::optional<double> ShareOfDeclaredTokens(const Timeline& timeline, double tokens_per_step);

// Why the steps of an elastic program may have had different FLOPs, so that program goodput is not known;
// empty: all had the same number of GPUs, or say that they had the same tokens.
std::string WhyStepsMayDiffer(const Timeline& timeline);

}  // namespace goodput
