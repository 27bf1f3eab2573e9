// goodput-google-cloud, a process beside sgoodput: sgoodput has the database, and it the network.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace goodput {

// `in` and `out` become its stdin and stdout; -1: as for this process. `arguments`: with its name.
absl::StatusOr<pid_t> StartCloudProgram(const std::vector<std::string>& arguments, int in, int out);

// Its exit status.
int WaitForCloudProgram(pid_t child);

using WriteToProgram = std::function<absl::Status(std::string_view)>;

// Starts it, gives it on stdin what `write` writes, and returns the exit status, after any message.
int FeedCloudProgram(const std::vector<std::string>& arguments,
                     const std::function<absl::Status(const WriteToProgram&)>& write);

}  // namespace goodput
