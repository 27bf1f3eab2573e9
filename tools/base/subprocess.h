// Runs another program to its end, without a shell, bounded in time and output.
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
  int exit_code = 0;  // 128 + signal when killed
  std::string out;
  std::string err;
};

struct CommandOptions {
  absl::Duration timeout = absl::Seconds(60);
  std::size_t max_output = std::size_t{512} << 20U;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's
  std::function<void(pid_t)> started = {};               // called with the child, e.g. to limit it
};

// `argv[0]` is looked for in PATH. An error: it could not be started (NotFound where there is no such
// program), ran out of time or printed too much, and was killed.
absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                         const CommandOptions& options = {});

}  // namespace goodput
