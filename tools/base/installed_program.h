// Where the project's own programs are: next to the running one in a build, otherwise where they were
// installed.
//
// A library of its own, because only these functions depend on the folders that configure was given.
#pragma once

#include <string>

namespace goodput {

// A program that users execute, such as sgoodput, or one of libexecdir. `folder` is where a build has it,
// below tools/.
std::string InstalledCommand(const std::string& folder, const std::string& name);
std::string InstalledProgram(const std::string& folder, const std::string& name);

}  // namespace goodput
