// Answers one query by running sgoodput to completion in a resource-limited child process.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/http_reply.h"
#include "tools/base/subprocess.h"

namespace goodput {

struct AnswerLimits {
  absl::Duration time = absl::Seconds(60);
  std::int64_t cpu_s = 60;
  std::int64_t memory_bytes = std::int64_t{4} << 30;  // of address space
  std::size_t output_bytes = std::size_t{256} << 20;
};

// Runs `program` with these arguments and additional environment variables.
absl::StatusOr<CommandResult> RunBounded(const std::string& program,
                                         const std::vector<std::string>& arguments,
                                         const std::vector<std::pair<std::string, std::string>>& environment,
                                         const AnswerLimits& limits);

// Turns the result into a reply: 200, 404 (nothing matched), 400 (bad usage), or 503 if it exceeded its
// limits; an error is JSON if there is no output. The headers Goodput-Exit and Goodput-Messages
// (percent-encoded) carry the exit status and stderr for `sgoodput --url`.
HttpReply ReplyOf(const absl::StatusOr<CommandResult>& result, bool text);

}  // namespace goodput
