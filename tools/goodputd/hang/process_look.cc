#include "tools/goodputd/hang/process_look.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostBelow = 64;
constexpr std::size_t kMostOfTask = 4;
constexpr std::array<std::string_view, 6> kShells = {"bash", "sh", "dash", "zsh", "csh", "tcsh"};

std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct ProcessStat {
  std::string program;
  std::string state;
  std::int64_t threads = 0;
  std::int64_t ticks = 0;  // of the processor
};

// Of /proc/PID/stat, proc(5); absent: it is gone.
std::optional<ProcessStat> ReadProcessStat(const std::string& folder) {
  const std::string line = ReadLine(folder + "/stat");
  const std::size_t open = line.find('(');
  // The name may contain anything.
  const std::size_t close = line.rfind(") ");
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(ToAbsl(line).substr(close + 2), ' ');
  // Counted from the state, which is field 3.
  constexpr std::size_t kUserTime = 11;
  constexpr std::size_t kSystemTime = 12;
  constexpr std::size_t kThreads = 17;
  ProcessStat stat;
  std::int64_t user = 0;
  std::int64_t system = 0;
  if (fields.size() <= kThreads || !absl::SimpleAtoi(fields[kUserTime], &user) ||
      !absl::SimpleAtoi(fields[kSystemTime], &system) || !absl::SimpleAtoi(fields[kThreads], &stat.threads))
    return std::nullopt;
  stat.program = line.substr(open + 1, close - open - 1);
  stat.state = std::string(fields[0]);
  stat.ticks = user + system;
  return stat;
}

std::vector<std::string> ThreadsOf(const std::string& process) {
  std::vector<std::string> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir((process + "/task").c_str()), closedir);
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    threads.push_back(Cat(process, "/task/", entry->d_name));
    if (threads.size() == kMostThreads) break;
  }
  return threads;
}

// "0" is said of a thread that runs, and to those who may not know.
std::string WchanOf(const std::string& folder) {
  std::string name = ReadLine(folder + "/wchan");
  return name == "0" ? std::string() : name;
}

void ReadSleep(const std::string& process, ProcessLook& look) {
  for (const std::string& thread : ThreadsOf(process)) {
    const std::optional<ProcessStat> stat = ReadProcessStat(thread);
    if (!stat || stat->state != "D") continue;
    look.state = "D";
    look.wchan = WchanOf(thread);
    return;
  }
  look.wchan = WchanOf(process);
}

std::vector<std::int64_t> ChildrenOf(const std::string& proc, std::int64_t pid) {
  std::ifstream file(Cat(proc, "/", pid, "/task/", pid, "/children"));
  std::vector<std::int64_t> children;
  for (std::int64_t child = 0; children.size() < kMostBelow && file >> child;) children.push_back(child);
  return children;
}

// The processes of a task that may have something to say, itself first.
std::vector<std::int64_t> ProcessesBelow(const std::string& proc, std::int64_t pid, std::size_t most) {
  std::vector<std::int64_t> all{pid};
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < all.size() && i < kMostBelow && found.size() < most; ++i) {
    const std::vector<std::int64_t> children = ChildrenOf(proc, all[i]);
    all.insert(all.end(), children.begin(), children.end());
    const std::string name = ReadLine(Cat(proc, "/", all[i], "/comm"));
    const bool shell = std::find(kShells.begin(), kShells.end(), name) != kShells.end();
    if (!shell || children.empty()) found.push_back(all[i]);
  }
  return found;
}

}  // namespace

std::vector<std::int64_t> ProcessesOf(const std::vector<TaskProcess>& tasks, std::size_t most) {
  std::vector<std::int64_t> pids;
  pids.reserve(tasks.size());
  for (const TaskProcess& task : tasks) pids.push_back(task.pid);
  for (std::size_t i = 0; i < pids.size() && pids.size() < most; ++i) {
    const std::vector<std::int64_t> children = ChildrenOf("/proc", pids[i]);
    pids.insert(pids.end(), children.begin(), children.end());
  }
  pids.resize(std::min(pids.size(), most));
  return pids;
}

std::vector<ProcessLook> LookAtProcesses(const std::vector<TaskProcess>& tasks, std::size_t most,
                                         const std::function<void()>& pause, const std::string& proc) {
  std::vector<ProcessLook> looks;
  std::vector<std::int64_t> ticks;
  const std::size_t of_task =
      std::clamp<std::size_t>(most / std::max<std::size_t>(1, tasks.size()), 1, kMostOfTask);
  for (const TaskProcess& task : tasks) {
    for (const std::int64_t pid : ProcessesBelow(proc, task.pid, of_task)) {
      if (looks.size() == most) break;
      const std::optional<ProcessStat> stat = ReadProcessStat(Cat(proc, "/", pid));
      looks.push_back({task.task, pid, stat ? stat->program : "", "", "", 0, 0});
      ticks.push_back(stat ? stat->ticks : 0);
    }
  }
  pause();
  const std::int64_t ticks_a_second = std::max<std::int64_t>(1, sysconf(_SC_CLK_TCK));
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const std::string process = Cat(proc, "/", looks[i].pid);
    const std::optional<ProcessStat> stat = ReadProcessStat(process);
    if (!stat) continue;
    looks[i].state = stat->state;
    looks[i].threads = stat->threads;
    looks[i].cpu_ms = std::max<std::int64_t>(0, stat->ticks - ticks[i]) * 1000 / ticks_a_second;
    ReadSleep(process, looks[i]);
  }
  return looks;
}

}  // namespace goodput
