// Other programs of slurm-goodput that sgoodput executes, since their libraries would slow down every start.
#pragma once

#include <string>

namespace goodput {

// Next to this program in a build (in tools/FOLDER), otherwise where it was installed.
std::string ProgramOfOurs(const std::string& folder, const std::string& name);

}  // namespace goodput
