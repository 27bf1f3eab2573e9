#include "tools/sgoodput/cloud_log.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/sgoodput/installed_program.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// Google's calculator looks as far back if it does not know when a job began.
constexpr absl::Duration kLookedBack = absl::Hours(24 * 7);

[[noreturn]] void Become(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  std::fprintf(stderr, "sgoodput: cannot execute %s: %s; install slurm-goodput completely\n", program.c_str(),
               std::strerror(errno));
  _exit(kBadUsage);
}

// With these as stdin and stdout; -1: as for this process.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& arguments, int in, int out) {
  std::fflush(stdout);
  const std::string program = InstalledProgram("google_cloud", "goodput-google-cloud");
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "cannot start a process");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != self) _exit(kBadUsage);
  std::signal(SIGPIPE, SIG_DFL);
  if (in >= 0) dup2(in, STDIN_FILENO);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  Become(program, arguments);
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "sgoodput: goodput-google-cloud ended by signal %d\n", WTERMSIG(status));
  return kBadUsage;
}

absl::StatusOr<std::vector<std::string>> QuestionFor(const ImportOptions& options) {
  const absl::Time now = absl::Now();
  Ns until = absl::ToUnixNanos(now);
  if (!options.to.empty()) {
    ASSIGN_OR_RETURN(until, ParseTimeOption(options.to, now));
  }
  Ns after = until - absl::ToInt64Nanoseconds(kLookedBack);
  if (!options.from.empty()) {
    ASSIGN_OR_RETURN(after, ParseTimeOption(options.from, now));
  }
  if (after >= until) return absl::InvalidArgumentError("-S is not before -E");
  std::vector<std::string> question{
      "goodput-google-cloud", "read", options.cloud_log, "--after", Cat(after), "--until", Cat(until)};
  if (!options.job_name.empty()) question.insert(question.end(), {"--job-name", options.job_name});
  if (!options.keep.empty()) question.emplace_back("--continue");
  return question;
}

absl::Status WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    // It has printed why it ended.
    if (put <= 0) return absl::CancelledError("");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Input> ReadCloudEntries(const ImportOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> question, QuestionFor(options));
  // Each job of a log is an import of its own.
  const std::string name = Cat(options.cloud_log, options.job_name.empty() ? "" : "#", options.job_name);
  ASSIGN_OR_RETURN(Input input, Input::CopyOf(name, options.keep));
  ASSIGN_OR_RETURN(const pid_t child, Start(question, -1, input.WritableFd()));
  if (WaitFor(child) != 0) return absl::CancelledError("");
  RETURN_IF_ERROR(input.CopyIsWritten());
  if (input.size() == 0) {
    const std::string job = options.job_name.empty() ? "" : Cat(" of job ", options.job_name);
    return absl::NotFoundError(
        Cat(options.cloud_log, " has no entries", job,
            options.from.empty() ? " of the last 7 days; use -S for older ones" : " of this time"));
  }
  return input;
}

int WriteCloudEntries(
    const ExportOptions& options, const std::string& cluster,
    const std::function<absl::Status(const std::function<absl::Status(std::string_view)>&)>& write_log) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(absl::ErrnoToStatus(errno, "cannot make a pipe"));
  std::vector<std::string> command{"goodput-google-cloud", "write", options.cloud_log, "--retention",
                                   Cat(options.retention_days)};
  if (!cluster.empty()) command.insert(command.end(), {"--label", Cat("goodput_cluster=", cluster)});
  const absl::StatusOr<pid_t> child = Start(command, ends[0], -1);
  close(ends[0]);
  if (!child.ok()) {
    close(ends[1]);
    return Fail(child.status());
  }
  std::signal(SIGPIPE, SIG_IGN);
  const absl::Status status = write_log([&](std::string_view text) { return WriteAll(ends[1], text); });
  close(ends[1]);
  const int code = WaitFor(*child);
  if (!status.ok() && !absl::IsCancelled(status)) return Fail(status);
  return code;
}

int CheckCloudLog(const std::string& log) {
  const absl::StatusOr<pid_t> child = Start({"goodput-google-cloud", "check", log}, -1, -1);
  return child.ok() ? WaitFor(*child) : Fail(child.status());
}

}  // namespace goodput
