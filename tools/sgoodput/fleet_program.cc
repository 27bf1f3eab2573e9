#include "tools/sgoodput/fleet_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tools/sgoodput/options.h"
#include "tools/sgoodput/program_of_ours.h"

namespace goodput {
namespace {

constexpr std::string_view kOption = "--fleet-db";

}  // namespace

std::string FleetProgram() {
  return ProgramOfOurs("fleet_database", "goodput-fleet-database");
}

bool AsksFleetDatabase(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "fleet") return true;
  return std::any_of(argv + 1, argv + argc, [](std::string_view word) {
    return word.substr(0, kOption.size()) == kOption &&
           (word.size() == kOption.size() || word[kOption.size()] == '=');
  });
}

int RunFleetProgram(char** argv) {
  const std::string program = FleetProgram();
  execv(program.c_str(), argv);
  std::fprintf(stderr, "sgoodput: cannot execute %s: %s; install slurm-goodput completely\n", program.c_str(),
               std::strerror(errno));
  return kBadUsage;
}

}  // namespace goodput
