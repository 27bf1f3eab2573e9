// Options that take comma-separated lists and may be repeated, as those of sacct.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

// The words of all lists, without empty ones.
std::vector<std::string> SplitLists(const std::vector<std::string>& lists);

// Slurm's long names of job states, from long or short ones (-s CD,running). Invalid: an unknown state.
absl::StatusOr<std::vector<std::string>> SplitStates(const std::vector<std::string>& lists);

}  // namespace goodput
