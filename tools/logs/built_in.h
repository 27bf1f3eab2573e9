// The profiles that are part of the program, as text: tools/logs/profiles, put into a source file by
// tools/logs/embed.
#ifndef GOODPUT_TOOLS_LOGS_BUILT_IN_H_
#define GOODPUT_TOOLS_LOGS_BUILT_IN_H_

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

#endif  // GOODPUT_TOOLS_LOGS_BUILT_IN_H_
