// Matches Slurm's words by their beginnings. The timeline uses only the standard library.
#pragma once

#include <string_view>

namespace goodput {

inline bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace goodput
