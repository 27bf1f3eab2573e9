#include "tools/goodputd/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

// A /proc file is returned completely by one read of a page.
constexpr std::size_t kPageBytes = 4096;

std::string ReadProc(pid_t pid, const char* file) {
  std::array<char, kPageBytes> buffer;
  const int fd = open(Cat("/proc/", pid, "/", file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  close(fd);
  return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
}

class SystemProcesses : public Processes {
 public:
  std::optional<ProcessStatus> Status(pid_t thread) const override {
    return ParseProcessStatus(ReadProc(thread, "status"));
  }
  std::string Cgroups(pid_t process) const override { return ReadProc(process, "cgroup"); }
  std::string Program(pid_t process) const override {
    std::array<char, kPageBytes> path;
    const ssize_t length = readlink(Cat("/proc/", process, "/exe").c_str(), path.data(), path.size());
    if (length <= 0) return "";
    const std::string_view program(path.data(), static_cast<std::size_t>(length));
    return std::string(program.substr(program.rfind('/') + 1));
  }
  std::optional<std::int64_t> BeganNs(pid_t process) const override {
    const std::string stat = ReadProc(process, "stat");
    // The name in parentheses may contain anything.
    const std::size_t end = stat.rfind(") ");
    if (end == std::string::npos) return std::nullopt;
    const std::vector<absl::string_view> fields = absl::StrSplit(ToAbsl(stat).substr(end + 2), ' ');
    constexpr std::size_t kStateAt = 0;
    constexpr std::size_t kStartTimeAt = 19;  // field 22 of proc(5), counted from the state
    std::int64_t ticks = 0;
    if (fields.size() <= kStartTimeAt || fields[kStateAt] == "Z" || fields[kStateAt] == "X" ||
        !absl::SimpleAtoi(fields[kStartTimeAt], &ticks))
      return std::nullopt;
    return ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  }
};

}  // namespace

bool IsSlurmstepd(std::string_view program) {
  // Debian calls it slurmstepd-wlm; if it was replaced on disk, the link ends in " (deleted)".
  return absl::StartsWith(ToAbsl(program), "slurmstepd");
}

const Processes& RealProcesses() {
  static const SystemProcesses processes;
  return processes;
}

bool HasKernelsPids(const std::string& link) {
  // PROC_PID_INIT_INO from linux/proc_ns.h, the same in every kernel since 3.8.
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::array<char, kFirst.size() + 16> name;
  const ssize_t length = readlink(link.c_str(), name.data(), name.size());
  return length < 0 || std::string_view(name.data(), static_cast<std::size_t>(length)) == kFirst;
}

std::optional<ProcessStatus> ParseProcessStatus(std::string_view text) {
  ProcessStatus status;
  int process = 0;
  int parent = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view key = line.substr(0, colon);
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (key == "Name") {
      status.name = std::string(value);
    } else if (key == "State") {
      status.zombie = !value.empty() && (value[0] == 'Z' || value[0] == 'X');
    } else if (key == "Tgid") {
      if (!absl::SimpleAtoi(value, &process)) return std::nullopt;
    } else if (key == "PPid") {
      if (!absl::SimpleAtoi(value, &parent)) return std::nullopt;
    } else if (key == "SigBlk") {
      if (!absl::SimpleHexAtoi(value, &status.blocked)) return std::nullopt;
    } else if (key == "SigIgn") {
      if (!absl::SimpleHexAtoi(value, &status.ignored)) return std::nullopt;
    } else if (key == "SigCgt") {
      if (!absl::SimpleHexAtoi(value, &status.caught)) return std::nullopt;
    }
  }
  if (process <= 0) return std::nullopt;
  status.process = process;
  status.parent = parent;
  return status;
}

}  // namespace goodput
