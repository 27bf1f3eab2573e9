#include "tools/goodputd/hang/py_spy.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/subprocess.h"

namespace goodput {
namespace {

constexpr std::size_t kMostPySpyOutput = std::size_t{64} << 10U;
constexpr std::size_t kMostFrames = 6;
constexpr std::size_t kMostFrame = 120;
constexpr std::size_t kMostThreadName = 40;
constexpr std::size_t kMostProcessesOfTask = 64;
// It maps the files of the program, so its addresses are many more than its memory.
constexpr rlim_t kPySpyAddresses = rlim_t{4} << 30U;

bool OnlyRootCanChange(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == 0 &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && (info.st_mode & S_IXOTH) != 0;
}

std::string ExecutableLink(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return target;
}

std::string CommandLineOf(std::int64_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/cmdline"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// By the name of its executable, since programs rename themselves.
bool IsPython(std::int64_t pid) {
  const std::string program = ExecutableLink(Cat("/proc/", pid, "/exe"));
  return program.compare(program.rfind('/') + 1, 6, "python") == 0;
}

std::int64_t ParentProcess(std::int64_t pid) {
  constexpr std::string_view kParent = "PPid:\t";
  std::ifstream file(Cat("/proc/", pid, "/status"));
  std::int64_t parent = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kParent.size(), kParent) != 0) continue;
    return absl::SimpleAtoi(line.substr(kParent.size()), &parent) ? parent : 0;
  }
  return 0;
}

// The Python processes of a task without forks: they have their parent's command line, which workers of
// torchrun do not have.
std::vector<std::int64_t> PythonsOf(const TaskProcess& task) {
  std::vector<std::int64_t> found;
  for (const std::int64_t pid : ProcessesOf({task}, kMostProcessesOfTask)) {
    if (!IsPython(pid)) continue;
    const bool fork = pid != task.pid && CommandLineOf(pid) == CommandLineOf(ParentProcess(pid));
    if (!fork) found.push_back(pid);
  }
  return found;
}

PySpyAnswer AskAbout(const std::string& program, std::int64_t task, std::int64_t pid) {
  PySpyAnswer answer;
  answer.task = task;
  answer.pid = pid;
  CommandOptions options;
  options.timeout = absl::Seconds(kPySpySeconds);
  options.max_output = kMostPySpyOutput;
  options.cut_output = true;
  options.started = [](pid_t child) {
    const rlimit addresses{kPySpyAddresses, kPySpyAddresses};
    const rlimit processor{kPySpySeconds, kPySpySeconds};
    prlimit(child, RLIMIT_AS, &addresses, nullptr);
    prlimit(child, RLIMIT_CPU, &processor, nullptr);
  };
  const absl::StatusOr<CommandResult> done =
      RunCommand({program, "dump", "--nonblocking", "--pid", Cat(pid)}, options);
  if (!done.ok()) {
    answer.problem = Cat("py-spy: ", Message(done.status()));
  } else if (done->exit_code != 0) {
    const std::string why = done->err.substr(0, done->err.find('\n'));
    answer.problem = Cat("py-spy: ", why.empty() ? Cat("exit status ", done->exit_code) : why);
  } else {
    answer.text = PySpySummary(done->out);
    if (answer.text.empty()) answer.problem = "py-spy does not answer as expected";
  }
  return answer;
}

struct PythonThread {
  std::string head;  // "MainThread (idle)"
  bool main = false;
  bool busy = false;
  std::vector<std::string> frames;  // the innermost first
};

// Thread 12345 (idle): "MainThread"
std::optional<PythonThread> ParseThread(std::string_view line) {
  constexpr std::string_view kThread = "Thread ";
  if (line.substr(0, kThread.size()) != kThread) return std::nullopt;
  const std::size_t open = line.find(" (");
  const std::size_t close = line.find(')', open == std::string_view::npos ? line.size() : open);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view status = line.substr(open + 2, close - open - 2);
  const std::size_t quote = line.find('"', close);
  std::string_view name = line.substr(0, open);
  if (quote != std::string_view::npos) name = line.substr(quote + 1, line.rfind('"') - quote - 1);
  PythonThread thread;
  thread.main = name == "MainThread";
  thread.busy = status.substr(0, 6) == "active";
  thread.head = Cat(Printable(name, kMostThreadName), " (", Printable(status, kMostThreadName), ")");
  return thread;
}

}  // namespace

std::string FindPySpy(const std::string& configured) {
  if (!configured.empty()) return OnlyRootCanChange(configured) ? configured : "";
  for (const std::string_view place : kPySpyPlaces) {
    if (OnlyRootCanChange(std::string(place))) return std::string(place);
  }
  return "";
}

std::vector<PySpyAnswer> AskPySpy(const std::string& program, const std::vector<TaskProcess>& tasks,
                                  const std::function<void()>& at) {
  std::vector<PySpyAnswer> answers;
  for (const TaskProcess& task : tasks) {
    for (const std::int64_t pid : PythonsOf(task)) {
      if (answers.size() == kMostPythons) return answers;
      at();
      answers.push_back(AskAbout(program, task.task, pid));
    }
  }
  return answers;
}

std::string PySpySummary(std::string_view report) {
  if (report.substr(0, 8) != "Process ") return "";
  std::vector<PythonThread> threads;
  for (const absl::string_view one : absl::StrSplit(ToAbsl(report), '\n')) {
    const std::string_view line(one.data(), one.size());
    if (std::optional<PythonThread> thread = ParseThread(line)) {
      threads.push_back(*std::move(thread));
      continue;
    }
    // Four spaces; what is indented further are values of variables, which are not asked for.
    const std::size_t begin = line.find_first_not_of(' ');
    if (threads.empty() || begin != 4 || threads.back().frames.size() == kMostFrames) continue;
    threads.back().frames.push_back(Printable(line.substr(begin), kMostFrame));
  }
  std::stable_sort(threads.begin(), threads.end(),
                   [](const PythonThread& a, const PythonThread& b) { return a.main && !b.main; });
  std::string text;
  std::size_t busy = 0;
  for (const PythonThread& thread : threads) {
    if (!thread.main && (!thread.busy || ++busy > kMostBusyThreads)) continue;
    text += Cat(text.empty() ? "" : "\n", thread.head, ":");
    for (const std::string& frame : thread.frames)
      text += Cat(&frame == &thread.frames.front() ? " " : " < ", frame);
  }
  return text;
}

}  // namespace goodput
