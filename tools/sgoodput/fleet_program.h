// `sgoodput fleet` and `sgoodput --fleet-db URL` are another program, because of libpq.
#pragma once

namespace goodput {

// Whether the first word is `fleet`, or any is --fleet-db or --fleet-db=URL.
bool AsksFleetDatabase(int argc, const char* const* argv);

// Executes it with the same arguments. Returns only if that fails, with the exit status.
int RunFleetProgram(char** argv);

}  // namespace goodput
