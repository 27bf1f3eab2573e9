#include "tools/sgoodput/cloud_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/base/installed_program.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

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

absl::StatusOr<pid_t> StartCloudProgram(const std::vector<std::string>& arguments, int in, int out) {
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

int WaitForCloudProgram(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "sgoodput: goodput-google-cloud ended by signal %d\n", WTERMSIG(status));
  return kBadUsage;
}

int FeedCloudProgram(const std::vector<std::string>& arguments,
                     const std::function<absl::Status(const WriteToProgram&)>& write) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(absl::ErrnoToStatus(errno, "cannot make a pipe"));
  const absl::StatusOr<pid_t> child = StartCloudProgram(arguments, ends[0], -1);
  close(ends[0]);
  if (!child.ok()) {
    close(ends[1]);
    return Fail(child.status());
  }
  std::signal(SIGPIPE, SIG_IGN);
  const absl::Status status = write([&](std::string_view text) { return WriteAll(ends[1], text); });
  close(ends[1]);
  const int code = WaitForCloudProgram(*child);
  if (!status.ok() && !absl::IsCancelled(status)) return Fail(status);
  return code;
}

}  // namespace goodput
