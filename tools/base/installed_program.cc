#include "tools/base/installed_program.h"

#include <unistd.h>

#include <array>
#include <filesystem>

namespace goodput {
namespace {

std::string Find(const std::string& folder, const std::string& name, const char* installed) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length > 0) {
    const std::filesystem::path own = std::filesystem::path(self.data()).parent_path();
    const std::filesystem::path built = own.parent_path() / folder / name;
    if (access(built.c_str(), X_OK) == 0) return built;
  }
  return std::filesystem::path(installed) / name;
}

}  // namespace

std::string InstalledCommand(const std::string& folder, const std::string& name) {
  return Find(folder, name, BINDIR);
}

std::string InstalledProgram(const std::string& folder, const std::string& name) {
  return Find(folder, name, PKGLIBEXECDIR);
}

}  // namespace goodput
