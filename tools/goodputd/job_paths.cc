#include "tools/goodputd/job_paths.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <string_view>

#include "sql/text.h"
#include "tools/goodputd/checkpoints/scan_helper.h"

namespace goodput {
namespace {

constexpr std::streamsize kMaxEnvironment = 1 << 20;

std::string UserOf(std::string_view environment) {
  constexpr std::string_view kUser = "USER=";
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = environment.substr(at, end - at);
    if (entry.substr(0, kUser.size()) == kUser) return std::string(entry.substr(kUser.size()));
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string ProcessEnvironment(std::int64_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/environ"), std::ios::binary);
  std::string text(static_cast<std::size_t>(kMaxEnvironment), '\0');
  file.read(text.data(), kMaxEnvironment);
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::string ResolveJobPath(const std::string& named, std::int64_t job, std::int64_t pid) {
  const std::string environment = ProcessEnvironment(pid);
  std::string path = ExpandPath(named, job, environment, UserOf(environment));
  if (!path.empty() && path.front() == '/') return path;
  std::array<char, PATH_MAX> cwd{};
  const ssize_t length = readlink(Cat("/proc/", pid, "/cwd").c_str(), cwd.data(), cwd.size() - 1);
  if (length <= 0) return {};
  return Cat(std::string_view(cwd.data(), static_cast<std::size_t>(length)), "/", path);
}

}  // namespace goodput
