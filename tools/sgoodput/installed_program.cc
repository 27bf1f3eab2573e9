#include "tools/sgoodput/installed_program.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/sgoodput/options.h"

namespace goodput {

std::string InstalledProgram(const std::string& folder, const std::string& name) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length > 0) {
    const std::filesystem::path own = std::filesystem::path(self.data()).parent_path();
    const std::filesystem::path built = own.parent_path() / folder / name;
    if (access(built.c_str(), X_OK) == 0) return built;
  }
  return std::string(PKGLIBEXECDIR "/") + name;
}

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
