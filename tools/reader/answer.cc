#include "tools/reader/answer.h"

#include <sys/resource.h>

#include <algorithm>

#include "sql/text.h"

namespace goodput {
namespace {

// Clients limit the length of headers.
constexpr std::size_t kLongestMessages = 4000;

void Limit(pid_t child, __rlimit_resource what, std::int64_t most) {
  const rlimit limit{static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  prlimit(child, what, &limit, nullptr);
}

// The first line of sgoodput's messages, without its name.
std::string FirstMessage(std::string_view messages) {
  constexpr std::string_view kName = "sgoodput: ";
  std::string_view line = messages.substr(0, messages.find('\n'));
  if (line.substr(0, kName.size()) == kName) line.remove_prefix(kName.size());
  return line.empty() ? "nothing matched" : std::string(line);
}

}  // namespace

absl::StatusOr<CommandResult> RunBounded(const std::string& program,
                                         const std::vector<std::string>& arguments,
                                         const std::vector<std::pair<std::string, std::string>>& environment,
                                         const AnswerLimits& limits) {
  std::vector<std::string> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  CommandOptions options;
  options.timeout = limits.time;
  options.max_output = limits.output_bytes;
  options.env = environment;
  options.started = [&limits](pid_t child) {
    Limit(child, RLIMIT_CPU, limits.cpu_s);
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes of address space
    Limit(child, RLIMIT_AS, limits.memory_bytes);
#endif
    Limit(child, RLIMIT_CORE, 0);
  };
  return RunCommand(command, options);
}

HttpReply ReplyOf(const absl::StatusOr<CommandResult>& result, bool text) {
  if (!result.ok())
    return ErrorReply(503, "the query takes too long or its answer is too large: select less");
  constexpr int kNothingMatched = 1;
  // `check` cannot tell.
  constexpr int kUnknown = 3;
  if (result->exit_code > kUnknown) return ErrorReply(503, "the query failed");
  const int code = result->exit_code == 0 ? 200 : result->exit_code == kNothingMatched ? 404 : 400;
  HttpReply reply;
  if (result->out.empty() && code != 200) {
    reply = ErrorReply(code, FirstMessage(result->err));
    reply.headers.emplace_back("Goodput-Body", "error");
  } else {
    // An empty list is an answer too.
    reply.body = result->out;
    if (text) reply.type = "text/plain; charset=utf-8";
  }
  reply.headers.emplace_back("Goodput-Exit", Cat(result->exit_code));
  if (!result->err.empty())
    reply.headers.emplace_back("Goodput-Messages", PercentEncoded(result->err.substr(0, kLongestMessages)));
  return reply;
}

}  // namespace goodput
