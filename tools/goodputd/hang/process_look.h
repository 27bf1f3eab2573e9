// What processes do at this moment, from /proc. Call with the rights of the job's user: the kernel hides the
// function in which a process of somebody else sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace goodput {

struct ProcessLook {
  std::int64_t task = 0;
  std::int64_t pid = 0;
  std::string program;
  // A letter, as in /proc/PID/stat: of a thread that cannot be interrupted (D) if there is one, otherwise of
  // the first. Empty: it is gone.
  std::string state;
  std::string wchan;  // the kernel's function in which that thread sleeps; empty: unknown, or it runs
  std::int64_t threads = 0;
  std::int64_t cpu_ms = 0;  // used between the two looks
};

struct TaskProcess {
  std::int64_t task = 0;
  std::int64_t pid = 0;
};

// Looks twice at each of the tasks' processes and those that they started, at `most` together; `pause` passes
// the time between. Shells that wait for others are left out.
std::vector<ProcessLook> LookAtProcesses(const std::vector<TaskProcess>& tasks, std::size_t most,
                                         const std::function<void()>& pause,
                                         const std::string& proc = "/proc");

// The tasks' processes and those that they started, at `most` together.
std::vector<std::int64_t> ProcessesOf(const std::vector<TaskProcess>& tasks, std::size_t most);

}  // namespace goodput
