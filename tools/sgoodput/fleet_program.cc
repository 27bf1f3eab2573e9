#include "tools/sgoodput/fleet_program.h"

#include <algorithm>
#include <string_view>

#include "tools/base/installed_program.h"
#include "tools/sgoodput/program_call.h"

namespace goodput {
namespace {

constexpr std::string_view kOption = "--fleet-db";

}  // namespace

std::string FleetProgram() {
  return InstalledProgram("fleet_database", "goodput-fleet-database");
}

bool AsksFleetDatabase(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "fleet") return true;
  return std::any_of(argv + 1, argv + argc, [](std::string_view word) {
    return word.substr(0, kOption.size()) == kOption &&
           (word.size() == kOption.size() || word[kOption.size()] == '=');
  });
}

int RunFleetProgram(char** argv) {
  return RunInstalledProgram(FleetProgram(), argv);
}

}  // namespace goodput
