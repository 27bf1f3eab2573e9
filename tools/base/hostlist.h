// Slurm's compressed host lists: n[1-4,07],login1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// The names, in order, at most `limit`. Text that cannot be parsed is kept as it is.
std::vector<std::string> ExpandHostList(std::string_view list, std::size_t limit = 65536);

// The list of these names, sorted, each once: n[1-4,07],login1. Names that differ in their last number share
// brackets.
std::string CompressHostList(const std::vector<std::string>& names);

}  // namespace goodput
