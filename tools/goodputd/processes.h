// What /proc knows of a process, behind an interface so that tests can supply their own processes.
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
  std::string name;          // of the program, as the kernel has it
  std::uint64_t caught = 0;  // signals with a handler, bit 0 for signal 1
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
  bool zombie = false;
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Of a process or thread; nothing when it is gone.
  virtual std::optional<ProcessStatus> Status(pid_t thread) const = 0;
  // Its cgroup's paths, a line each; empty when it is gone.
  virtual std::string Cgroups(pid_t process) const = 0;
  // It has executed no program since slurmstepd forked it.
  virtual bool IsSlurmstepd(pid_t process) const = 0;
  // When it began, CLOCK_BOOTTIME to 10 ms; nothing when it is gone or a zombie.
  virtual std::optional<std::int64_t> BeganNs(pid_t process) const = 0;
};

// The system's.
const Processes& RealProcesses();

// Whether the ids of processes here are those the kernel itself goes by, as the first PID namespace's are.
// False in a namespace of one's own; true where nobody says. `link`: what names this process's namespace.
bool HasKernelsPids(const std::string& link = "/proc/self/ns/pid");

// From the text of /proc/PID/status; nothing when it is not one.
std::optional<ProcessStatus> ParseProcessStatus(std::string_view text);

}  // namespace goodput
