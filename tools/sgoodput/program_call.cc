#include "tools/sgoodput/program_call.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/sgoodput/options.h"

namespace goodput {

absl::StatusOr<CommandResult> AskInstalledProgram(const std::string& program, std::vector<std::string> words,
                                                  const std::string& config_file) {
  words.insert(words.begin(), program);
  if (!config_file.empty()) words.insert(words.end(), {"--config", config_file});
  CommandOptions options;
  options.timeout = absl::Seconds(30);
  return RunCommand(words, options);
}

int RunInstalledProgram(const std::string& program, char** argv) {
  execv(program.c_str(), argv);
  std::fprintf(stderr, "sgoodput: cannot execute %s: %s; install slurm-goodput completely\n", program.c_str(),
               std::strerror(errno));
  return kBadUsage;
}

}  // namespace goodput
