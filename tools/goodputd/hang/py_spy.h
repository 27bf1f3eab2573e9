// Asks py-spy, if it is installed, where a Python program is: it reads the memory of the process, without
// stopping it (--nonblocking), and prints the stack of each thread. Call with the rights of the job's user.
//
// The words are those of src/dump.rs in py-spy, read at commit 076b975239f9.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/goodputd/hang/process_look.h"

namespace goodput {

// Where it is looked for, if goodput.conf does not say.
inline constexpr std::string_view kPySpyPlaces[] = {"/usr/local/bin/py-spy", "/usr/bin/py-spy"};

// The program to run; empty: there is none. It runs beside goodputd: what somebody else than root owns or may
// write is not run. `configured`: goodput.conf's, empty if it does not say.
std::string FindPySpy(const std::string& configured);

struct PySpyAnswer {
  std::int64_t task = 0;
  std::int64_t pid = 0;
  std::string text;     // PySpySummary
  std::string problem;  // why there is none
};

// Asks about the Python processes of the tasks, at most kMostPythons, for at most kPySpySeconds each. Forks
// of a process, such as those that load data, are left out. `at` is called before each.
inline constexpr std::size_t kMostPythons = 8;
inline constexpr int kPySpySeconds = 4;
std::vector<PySpyAnswer> AskPySpy(const std::string& program, const std::vector<TaskProcess>& tasks,
                                  const std::function<void()>& at);

// A line for each thread: the main one, and at most kMostBusyThreads that are busy, with their innermost
// functions: "MainThread (idle): all_reduce (distributed_c10d.py:2501) < step (train.py:120)". Pure. Empty:
// it is no such report.
inline constexpr std::size_t kMostBusyThreads = 2;
std::string PySpySummary(std::string_view report);

}  // namespace goodput
