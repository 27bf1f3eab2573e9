// `sgoodput fleet` and `sgoodput --fleet-db URL` are another program, because of libpq.
#pragma once

#include <string>

namespace goodput {

// Next to this program in a build, otherwise where it was installed.
std::string FleetProgram();

// Whether the first word is `fleet`, or any is --fleet-db or --fleet-db=URL.
bool AsksFleetDatabase(int argc, const char* const* argv);

// Executes it with the same arguments. Returns only if that fails, with the exit status.
int RunFleetProgram(char** argv);

}  // namespace goodput
