// Information from /proc about processes, behind an interface so that tests can supply their own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

struct ProcessStatus {
  pid_t process = 0;  // the thread group's id
  pid_t parent = 0;
  std::string name;          // the kernel's name of the program
  std::uint64_t caught = 0;  // signals with a handler, bit 0 for signal 1
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
  bool zombie = false;
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Of a process or thread; empty if it is gone.
  virtual std::optional<ProcessStatus> Status(pid_t thread) const = 0;
  // Its cgroup paths, one per line; empty if it is gone.
  virtual std::string Cgroups(pid_t process) const = 0;
  // The file name of the program that it executes; empty if it is gone, a zombie or about to exit: the kernel
  // takes its memory, and with it the program, before it says that the process is a zombie.
  virtual std::string Program(pid_t process) const = 0;
  // When it began, CLOCK_BOOTTIME with a resolution of 10 ms; empty if it is gone or a zombie.
  virtual std::optional<std::int64_t> BeganNs(pid_t process) const = 0;
};

// The system's processes.
const Processes& RealProcesses();

// Whether it is slurmstepd, or a process that slurmstepd forked and that has executed no program since.
bool IsSlurmstepd(std::string_view program);

// Whether process ids here are those of the kernel, that is, of the first PID namespace. True if unknown.
// `link`: names this process's namespace.
bool HasKernelsPids(const std::string& link = "/proc/self/ns/pid");

// From the text of /proc/PID/status; empty if it is malformed.
std::optional<ProcessStatus> ParseProcessStatus(std::string_view text);

}  // namespace goodput
