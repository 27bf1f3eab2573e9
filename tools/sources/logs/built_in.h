// The built-in profiles as text: the files in tools/sources/logs/profiles, embedded by
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
