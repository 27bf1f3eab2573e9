#include "tools/goodputd/job_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::streamsize kMaxEnvironment = 1 << 20;
// Of a job's script and its descendants.
constexpr std::size_t kMostProcesses = 256;
// srun opens its output before anything else.
constexpr int kMostOfSrun = 64;

std::string NameOf(std::int64_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

// The flags with which a descriptor was opened (open(2)); absent: there is none, or it cannot be read.
std::optional<unsigned> FlagsOf(std::int64_t pid, int fd) {
  std::ifstream info(Cat("/proc/", pid, "/fdinfo/", fd));
  std::string key;
  unsigned flags = 0;
  while (info >> key && key != "flags:") info >> key;
  if (!(info >> std::oct >> flags)) return std::nullopt;
  return flags;
}

// Whether a program's standard output or error was redirected to a file to append (`>>`). Slurm opens files
// so in any case; those are also the batch script's.
bool IsAppendedTo(const std::string& link, unsigned flags, std::int64_t batch) {
  struct stat file {};
  struct stat batch_file {};
  if ((flags & O_APPEND) == 0 || stat(link.c_str(), &file) != 0) return false;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (stat(Cat("/proc/", batch, "/fd/", fd).c_str(), &batch_file) == 0 &&
        batch_file.st_dev == file.st_dev && batch_file.st_ino == file.st_ino)
      return false;
  }
  return true;
}

// Programs that start containers through a daemon, or with a monitor outside the job.
constexpr std::array<std::string_view, 4> kContainerClients = {"docker", "nerdctl", "podman",
                                                               "podman-remote"};

// Empty if it cannot be read or the process is gone.
std::string TextOfLink(const std::string& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = readlink(link.c_str(), text.data(), text.size());
  return length <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(length));
}

std::string MountNamespaceOf(std::int64_t pid) {
  return TextOfLink(Cat("/proc/", pid, "/ns/mnt"));
}

// Its cgroup paths that belong to Slurm, up to the job: "6:freezer:/slurm_n1/uid_1000/job_7".
std::set<std::string> JobCgroupsOf(std::int64_t pid) {
  std::set<std::string> cgroups;
  std::ifstream file(Cat("/proc/", pid, "/cgroup"));
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kJob = "/job_";
    const std::size_t job = line.find(kJob);
    if (job != std::string::npos)
      cgroups.insert(line.substr(0, line.find_first_not_of("0123456789", job + kJob.size())));
  }
  return cgroups;
}

std::int64_t ParentOf(std::int64_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  // After the name, which may contain anything, and the state.
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text).substr(std::min(text.size(), text.rfind(')') + 1)), ' ');
  std::int64_t parent = 0;
  return words.size() > 2 && absl::SimpleAtoi(words[2], &parent) ? parent : 0;
}

std::vector<std::int64_t> AllProcesses() {
  std::vector<std::int64_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder.get())) {
    std::int64_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid)) pids.push_back(pid);
  }
  return pids;
}

// Tells a job's processes from others.
class ProcessesOfJob {
 public:
  explicit ProcessesOfJob(const std::vector<std::int64_t>& known) {
    for (const std::int64_t pid : known) {
      is_[pid] = true;
      cgroups_.merge(JobCgroupsOf(pid));
    }
  }
  bool Has(std::int64_t pid) {
    if (pid <= 1) return false;
    const auto [at, is_new] = is_.try_emplace(pid, false);
    if (!is_new) return at->second;
    const std::set<std::string> cgroups = JobCgroupsOf(pid);
    const bool is = std::any_of(cgroups.begin(), cgroups.end(),
                                [this](const std::string& one) { return cgroups_.count(one) != 0; }) ||
                    Has(ParentOf(pid));
    return is_[pid] = is;
  }

 private:
  std::map<std::int64_t, bool> is_;
  std::set<std::string> cgroups_;
};

}  // namespace

std::string VariableOf(std::string_view environment, std::string_view name) {
  for (absl::string_view entry : absl::StrSplit(ToAbsl(environment), '\0')) {
    if (entry.size() > name.size() && entry.substr(0, name.size()) == ToAbsl(name) &&
        entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
  }
  return {};
}

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
    const auto variable = [&](const char* name) { return VariableOf(environment, name); };
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
  std::string path = ExpandPath(named, job, environment, VariableOf(environment, "USER"));
  if (!path.empty() && path.front() == '/') return path;
  const std::string cwd = TextOfLink(Cat("/proc/", pid, "/cwd"));
  return cwd.empty() ? std::string() : Cat(cwd, "/", path);
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
  // Before Linux 5.6, or with a filter that does not know the call: a link from the root leads out of it.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM))
    fd = open(Cat(root_path, path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = errno;
  close(root);
  errno = error;
  return fd;
}

bool CouldMakeFolder(std::int64_t pid, const std::string& path) {
  std::string place = path;
  while (place.size() > 1) {
    place.erase(std::max<std::size_t>(1, place.rfind('/')));
    const int fd = OpenFolderOf(pid, place);
    if (fd < 0 && errno == ENOENT) continue;
    const bool may = fd < 0 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (fd >= 0) close(fd);
    return may;
  }
  return true;
}

JobContainers ContainersOf(const std::vector<std::int64_t>& pids) {
  JobContainers found;
  std::set<std::string> namespaces;
  for (const std::int64_t pid : pids) namespaces.insert(MountNamespaceOf(pid));
  ProcessesOfJob processes(pids);
  for (const std::int64_t pid : AllProcesses()) {
    const std::string own = MountNamespaceOf(pid);
    if (own.empty() || !processes.Has(pid)) continue;
    const std::string name = NameOf(pid);
    if (std::find(kContainerClients.begin(), kContainerClients.end(), name) != kContainerClients.end())
      found.client = name;
    if (namespaces.insert(own).second) found.pids.push_back(pid);
  }
  return found;
}

bool IsBeingSetUp(std::int64_t pid) {
  return absl::StartsWith(NameOf(pid), "slurmstepd");
}

std::vector<ProgramOutput> ProgramOutputs(const std::vector<std::int64_t>& pids) {
  struct Process {
    std::int64_t pid = 0;
    std::size_t parent = 0;
    std::array<std::string, 2> files;  // of its standard output and error
  };
  std::vector<ProgramOutput> outputs;
  std::vector<Process> below;
  below.reserve(pids.size());
  for (const std::int64_t pid : pids) below.push_back({pid, below.size(), {}});
  for (std::size_t i = 0; i < below.size() && i < kMostProcesses; ++i) {
    const std::int64_t pid = below[i].pid;
    std::ifstream children(Cat("/proc/", pid, "/task/", pid, "/children"));
    std::int64_t child = 0;
    while (children >> child) below.push_back({child, i, {}});
    const bool srun = NameOf(pid) == "srun";
    for (int fd = STDOUT_FILENO; fd < (srun ? kMostOfSrun : STDERR_FILENO + 1); ++fd) {
      std::string link = Cat("/proc/", pid, "/fd/", fd);
      std::string file = TextOfLink(link);
      if (file.empty()) continue;
      bool inherited = below[i].parent == i;
      if (fd <= STDERR_FILENO) {
        const auto which = static_cast<std::size_t>(fd - STDOUT_FILENO);
        inherited = inherited || below[below[i].parent].files.at(which) == file;
        below[i].files.at(which) = file;
      }
      if (inherited && !srun) continue;
      const std::optional<unsigned> flags = FlagsOf(pid, fd);
      if (!flags || (*flags & O_ACCMODE) == O_RDONLY) continue;
      const bool append = fd <= STDERR_FILENO && IsAppendedTo(link, *flags, pids.front());
      outputs.push_back({pid, std::move(link), std::move(file), append, srun});
    }
  }
  return outputs;
}

}  // namespace goodput
