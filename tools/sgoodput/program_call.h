// Calls to the subcommands that are programs of their own (installed_program.h), because of libraries that
// would slow down every start of sgoodput.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/subprocess.h"

namespace goodput {

// Runs it with `words` and --config, within 30 s.
absl::StatusOr<CommandResult> AskInstalledProgram(const std::string& program, std::vector<std::string> words,
                                                  const std::string& config_file);

// Executes it with the same arguments. Returns only if that fails, with the exit status.
int RunInstalledProgram(const std::string& program, char** argv);

}  // namespace goodput
