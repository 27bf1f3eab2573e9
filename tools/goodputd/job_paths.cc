#include "tools/goodputd/job_paths.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::streamsize kMaxEnvironment = 1 << 20;
// Of a job's script, and of what it started.
constexpr std::size_t kMostProcesses = 256;
// srun opens its output before anything else.
constexpr int kMostOfSrun = 64;

std::string NameOf(std::int64_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

// Whether the descriptor is there and open for writing.
bool IsWritten(std::int64_t pid, int fd) {
  std::ifstream info(Cat("/proc/", pid, "/fdinfo/", fd));
  std::string key;
  unsigned flags = 0;
  while (info >> key && key != "flags:") info >> key;
  return static_cast<bool>(info >> std::oct >> flags) && (flags & O_ACCMODE) != O_RDONLY;
}

std::string Variable(std::string_view environment, std::string_view name) {
  for (absl::string_view entry : absl::StrSplit(ToAbsl(environment), '\0')) {
    if (entry.size() > name.size() && entry.substr(0, name.size()) == ToAbsl(name) &&
        entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
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

std::string ExpandPath(std::string_view path, std::int64_t job, std::string_view environment,
                       std::string_view user) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%' || i + 1 == path.size()) {
      out += path[i];
      continue;
    }
    ++i;
    const auto variable = [&](const char* name) { return Variable(environment, name); };
    switch (path[i]) {
      case '%':
        out += '%';
        break;
      case 'j':
        out += std::to_string(job);
        break;
      case 'A': {
        const std::string array = variable("SLURM_ARRAY_JOB_ID");
        out += array.empty() ? std::to_string(job) : array;
        break;
      }
      case 'a':
        out += variable("SLURM_ARRAY_TASK_ID");
        break;
      case 'x':
        out += variable("SLURM_JOB_NAME");
        break;
      case 'u':
        out += user;
        break;
      default:
        out += '%';
        out += path[i];
    }
  }
  return out;
}

std::string ResolveJobPath(const std::string& named, std::int64_t job, std::int64_t pid) {
  const std::string environment = ProcessEnvironment(pid);
  std::string path = ExpandPath(named, job, environment, Variable(environment, "USER"));
  if (!path.empty() && path.front() == '/') return path;
  std::array<char, PATH_MAX> cwd{};
  const ssize_t length = readlink(Cat("/proc/", pid, "/cwd").c_str(), cwd.data(), cwd.size() - 1);
  if (length <= 0) return {};
  return Cat(std::string_view(cwd.data(), static_cast<std::size_t>(length)), "/", path);
}

int OpenFolderOf(std::int64_t pid, const std::string& path) {
  const std::string root_path = Cat("/proc/", pid, "/root");
  const int root = open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    if (errno == ENOENT) errno = ESRCH;
    return -1;
  }
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  int fd = static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how)));
  // Before Linux 5.6, or where a filter knows no better: a link from the root leads out of it.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM))
    fd = open(Cat(root_path, path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = errno;
  close(root);
  errno = error;
  return fd;
}

bool IsBeingSetUp(std::int64_t pid) {
  return absl::StartsWith(NameOf(pid), "slurmstepd");
}

std::vector<std::string> SrunOutputs(std::int64_t pid) {
  std::vector<std::string> outputs;
  std::vector<std::int64_t> below{pid};
  for (std::size_t i = 0; i < below.size() && i < kMostProcesses; ++i) {
    std::ifstream children(Cat("/proc/", below[i], "/task/", below[i], "/children"));
    std::int64_t child = 0;
    while (children >> child) below.push_back(child);
    if (NameOf(below[i]) != "srun") continue;
    for (int fd = STDOUT_FILENO; fd < kMostOfSrun; ++fd) {
      if (IsWritten(below[i], fd)) outputs.push_back(Cat("/proc/", below[i], "/fd/", fd));
    }
  }
  return outputs;
}

}  // namespace goodput
