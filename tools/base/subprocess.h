// Runs another program to its end, without a shell, with limits on time and output.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

struct CommandResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

struct CommandOptions {
  absl::Duration timeout = absl::Seconds(60);
  std::size_t max_output = std::size_t{512} << 20U;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  std::function<void(pid_t)> started = {};  // called with the child's process id, for example to set limits
  bool cut_output = false;  // what exceeds max_output is dropped; otherwise the program is killed
  std::string input = {};   // its stdin; empty: /dev/null
};

// `argv[0]` is looked up in PATH. An error: the program could not be started (NotFound if it does not exist),
// ran out of time or printed too much; it was killed.
absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                         const CommandOptions& options = {});

}  // namespace goodput
