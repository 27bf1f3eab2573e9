#include "tools/sgoodput/program_of_ours.h"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "sql/text.h"

namespace goodput {

std::string ProgramOfOurs(const std::string& folder, const std::string& name) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length > 0) {
    const std::filesystem::path own = std::filesystem::path(self.data()).parent_path();
    const std::filesystem::path built = own.parent_path() / folder / name;
    if (access(built.c_str(), X_OK) == 0) return built;
  }
  return Cat(PKGLIBEXECDIR, "/", name);
}

}  // namespace goodput
