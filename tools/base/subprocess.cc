#include "tools/base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "absl/time/clock.h"
#include "sql/text.h"

extern char** environ;

namespace goodput {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> fds{-1, -1};
    if (pipe2(fds.data(), O_CLOEXEC) == 0) {
      read = fds[0];
      write = fds[1];
    }
  }
  ~Pipe() {
    if (read >= 0) close(read);
    CloseWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseWrite() {
    if (write >= 0) close(write);
    write = -1;
  }
};

// A file in memory, so that a program that does not read cannot block anybody.
struct InputFile {
  int fd = -1;
  explicit InputFile(const std::string& text) {
    if (text.empty()) return;
    fd = memfd_create("stdin", MFD_CLOEXEC);
    const bool written = fd >= 0 &&
                         write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         lseek(fd, 0, SEEK_SET) == 0;
    if (written || fd < 0) return;
    close(fd);
    fd = -1;
  }
  ~InputFile() {
    if (fd >= 0) close(fd);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
};

}  // namespace

absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                         const CommandOptions& options) {
  Pipe out;
  Pipe err;
  if (out.read < 0 || err.read < 0) return absl::ResourceExhaustedError(Cat("pipe: ", std::strerror(errno)));
  const InputFile in(options.input);
  if (in.fd < 0 && !options.input.empty())
    return absl::ResourceExhaustedError(Cat("memfd_create: ", std::strerror(errno)));

  std::vector<std::string> env;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view assignment(*variable);
    const std::string_view name = assignment.substr(0, assignment.find('='));
    const bool replaced = std::any_of(options.env.begin(), options.env.end(),
                                      [&](const auto& added) { return added.first == name; });
    if (!replaced) env.emplace_back(assignment);
  }
  for (const auto& [name, value] : options.env) env.push_back(Cat(name, "=", value));
  std::vector<char*> env_pointers;
  env_pointers.reserve(env.size() + 1);
  for (std::string& variable : env) env_pointers.push_back(variable.data());
  env_pointers.push_back(nullptr);
  std::vector<std::string> words = argv;
  std::vector<char*> word_pointers;
  word_pointers.reserve(words.size() + 1);
  for (std::string& word : words) word_pointers.push_back(word.data());
  word_pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in.fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, in.fd, 0);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  // Its own process group, so that its children are killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, word_pointers[0], &actions, &attributes, word_pointers.data(), env_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    const std::string text = Cat("cannot run ", argv[0], ": ", std::strerror(failed));
    return failed == ENOENT ? absl::NotFoundError(text) : absl::InternalError(text);
  }
  if (options.started) options.started(pid);
  out.CloseWrite();
  err.CloseWrite();

  CommandResult result;
  const absl::Time deadline = absl::Now() + options.timeout;
  std::array<pollfd, 2> polls{{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
  const std::string no_answer =
      Cat(argv[0], " did not finish within ", absl::FormatDuration(options.timeout));
  std::string problem;
  std::array<char, 65536> buffer{};
  while (polls[0].fd >= 0 || polls[1].fd >= 0) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      problem = no_answer;
      break;
    }
    if (poll(polls.data(), polls.size(), static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) < 0 &&
        errno != EINTR) {
      problem = Cat("poll: ", std::strerror(errno));
      break;
    }
    for (std::size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      const ssize_t got = read(polls[i].fd, buffer.data(), buffer.size());
      if (got <= 0) {
        if (got == 0 || errno != EINTR) polls[i].fd = -1;
        continue;
      }
      std::string& into = i == 0 ? result.out : result.err;
      const std::size_t room = options.max_output - into.size();
      if (static_cast<std::size_t>(got) > room && !options.cut_output) {
        problem = Cat(argv[0], " printed more than ", options.max_output, " bytes");
        break;
      }
      into.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
    if (!problem.empty()) break;
  }
  // It may close its output and continue.
  int status = 0;
  absl::Duration pause = absl::Microseconds(100);
  while (problem.empty()) {
    const pid_t gone = waitpid(pid, &status, WNOHANG);
    if (gone == pid) break;
    if (gone < 0 && errno != EINTR) return absl::InternalError(Cat("waitpid: ", std::strerror(errno)));
    if (absl::Now() >= deadline) problem = no_answer;
    absl::SleepFor(pause);
    pause = std::min(2 * pause, absl::Milliseconds(20));
  }
  if (!problem.empty()) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!problem.empty()) return absl::DeadlineExceededError(problem);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace goodput
