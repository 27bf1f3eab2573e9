// Slurm's compressed host lists: n[1-4,07],login1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// The names, in order, at most `limit`. Text that cannot be parsed is kept as it is.
std::vector<std::string> ExpandHostList(std::string_view list, std::size_t limit = 65536);

}  // namespace goodput
