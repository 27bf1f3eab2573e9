// The profiles that are part of the program, as text: tools/sources/logs/profiles, put into a source file by
// tools/sources/logs/embed.
#pragma once

#include <string_view>
#include <vector>

namespace goodput {

struct BuiltInProfile {
  std::string_view name;
  std::string_view text;
};
// In the order in which `auto` prefers them.
std::vector<BuiltInProfile> BuiltInProfiles();

}  // namespace goodput
