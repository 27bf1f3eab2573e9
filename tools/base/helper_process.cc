#include "tools/base/helper_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"

extern char** environ;

namespace goodput {

// Shared memory of child and parent: where the child is. A child that hangs no longer changes it.
struct HelperBoard {
  std::atomic<std::uint64_t> changes{0};
  std::array<char, 1024> where{};
};

namespace {

constexpr std::string_view kHelperOption = "--helper";
constexpr int kHelperSocket = 0;  // in place of stdin
constexpr int kHelperBoard = 1;   // in place of stdout
constexpr absl::Duration kFirstPause = absl::Seconds(1);
// The first byte of a message, so that an empty one is not mistaken for end of file.
constexpr char kMessage = 'M';
// A killed child ends at once, or waits in the kernel for an unknown time.
constexpr int kDyingMs = 200;

std::int64_t Now() {
  return kSystemClock.mono_ns();
}

// Null at end of file, or for a malformed message.
std::optional<std::string> Receive(int socket) {
  std::string message(kMaxHelperMessage + 1, '\0');
  ssize_t got = -1;
  do {
    got = recv(socket, message.data(), message.size(), MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0 || static_cast<std::size_t>(got) > message.size() || message.front() != kMessage) {
    return std::nullopt;
  }
  message.resize(static_cast<std::size_t>(got));
  message.erase(0, 1);
  return message;
}

HelperBoard* MapBoard(int fd) {
  void* map = mmap(nullptr, sizeof(HelperBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return map == MAP_FAILED ? nullptr : static_cast<HelperBoard*>(map);
}

bool Send(int socket, std::string_view text) {
  std::string message;
  message.reserve(text.size() + 1);
  message.push_back(kMessage);
  message.append(text);
  ssize_t sent = -1;
  do {
    sent = send(socket, message.data(), message.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(message.size());
}

// All groups of a user who has a name; otherwise none.
bool SetGroups(const HelperUser& user) {
  if (user.all_groups && user.uid != 0) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && initgroups(found->pw_name, user.gid) == 0) return true;
  }
  return setgroups(0, nullptr) == 0;
}

// Irrevocable: changes the saved ids too.
bool BecomeUser(const HelperUser& user) {
  if (user.uid == geteuid() && user.gid == getegid()) return true;
  return SetGroups(user) && setgid(user.gid) == 0 && setuid(user.uid) == 0 && geteuid() == user.uid;
}

bool ReadUser(std::string_view uid, std::string_view gid, HelperUser& user) {
  if (!gid.empty() && gid.back() == '+') {
    user.all_groups = true;
    gid.remove_suffix(1);
  }
  return absl::SimpleAtoi(ToAbsl(uid), &user.uid) && absl::SimpleAtoi(ToAbsl(gid), &user.gid);
}

int Serve(const HelperAnswers& answers) {
  HelperBoard* const board = MapBoard(kHelperBoard);
  const HelperProgress progress = [board](std::string_view where) {
    if (board == nullptr) return;
    const std::size_t size = std::min(where.size(), board->where.size() - 1);
    where.copy(board->where.data(), size);
    board->where[size] = '\0';
    ++board->changes;
  };
  while (const std::optional<std::string> request = Receive(kHelperSocket)) {
    progress("");
    const std::string answer = answers(*request, progress);
    progress("");  // an idle helper is nowhere
    if (!Send(kHelperSocket, answer)) return 1;
  }
  return 0;
}

// Whether the process has a processor, or waits for one. One that waits for anything else may hang.
bool Runs(pid_t pid) {
  std::ifstream file(Cat("/proc/", pid, "/stat"));
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) == "R";
}

bool Ended(pid_t child) {
  int status = 0;
  const pid_t gone = waitpid(child, &status, WNOHANG);
  return gone == child || (gone < 0 && errno == ECHILD);
}

}  // namespace

std::optional<int> RunHelper(int argc, char** argv, std::initializer_list<NamedHelper> helpers) {
  if (argc < 5 || argv[1] != kHelperOption) return std::nullopt;
  for (const int signal_number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) signal(signal_number, SIG_IGN);
  HelperUser user;
  if (!ReadUser(argv[3], argv[4], user)) return 2;
  if (!BecomeUser(user)) {
    std::fprintf(stderr, "goodputd: helper %s cannot switch to uid %s: %s\n", argv[2], argv[3],
                 std::strerror(errno));
    return 1;
  }
  umask(077);
  // The child is killed with the thread that started it, even if stopped or busy: it may hold a lock that
  // others wait for. Set after the change of user, which resets it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto* const found = std::find_if(helpers.begin(), helpers.end(),
                                         [&](const NamedHelper& named) { return named.name == argv[2]; });
  if (found == helpers.end()) return 2;
  prctl(PR_SET_NAME, Cat("goodput-", argv[2]).c_str());
  return Serve(found->helper({argv + 5, argv + argc}));
}

AbandonedHelpers::Counts AbandonedHelpers::Count() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ended = [](const Child& child) { return Ended(child.pid); };
  children_.erase(std::remove_if(children_.begin(), children_.end(), ended), children_.end());
  const std::int64_t before = Now() - kDyingMs * std::int64_t{1'000'000};
  Counts counts;
  for (const Child& child : children_) ++(child.killed_ns < before ? counts.hanging : counts.ending);
  return counts;
}

void AbandonedHelpers::Take(pid_t child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  children_.push_back({child, Now()});
}

bool HelperProcess::Hurry() const {
  pollfd hurry{options_.hurry_fd, POLLIN, 0};
  return options_.hurry_fd >= 0 && poll(&hurry, 1, 0) > 0;
}

absl::Status HelperProcess::Start() {
  const std::int64_t now = Now();
  if (now < not_before_ns_ && !Hurry()) return trouble_;
  if (options_.abandoned != nullptr && !options_.abandoned->MayStart()) {
    return trouble_.ok() ? absl::UnavailableError("too many child processes hang") : trouble_;
  }
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Failed(absl::UnavailableError(Cat("socketpair: ", std::strerror(errno))));
  }
  // Without it a helper still works; only the place where it hangs is unknown.
  const int board = memfd_create("goodput-helper", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Sealed: reading a mapping that another process truncated would kill this process.
  if (board >= 0 && ftruncate(board, sizeof(HelperBoard)) == 0 &&
      fcntl(board, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
    board_ = MapBoard(board);
  }
  const HelperUser user = options_.user.value_or(HelperUser{geteuid(), getegid()});
  std::vector<std::string> words = {"goodputd", std::string(kHelperOption), options_.name, Cat(user.uid),
                                    Cat(user.gid, user.all_groups ? "+" : "")};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> word_pointers;
  word_pointers.reserve(words.size() + 1);
  for (std::string& word : words) word_pointers.push_back(word.data());
  word_pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kHelperSocket);
  if (board_ != nullptr) posix_spawn_file_actions_adddup2(&actions, board, kHelperBoard);
  // A helper that hangs must hold none of its parent's descriptors: no lock, and no socket of jobs.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // From the start: systemd signals every process of the service.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal_number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&blocked, signal_number);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed =
      posix_spawn(&pid_, "/proc/self/exe", &actions, &attributes, word_pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (board >= 0) close(board);
  socket_ = ends[0];
  if (failed == 0) return absl::OkStatus();
  pid_ = 0;
  return Failed(absl::UnavailableError(Cat("cannot start a helper: ", std::strerror(failed))));
}

absl::Status HelperProcess::Failed(absl::Status why) {
  Stop();
  pause_ = std::min(options_.longest_pause, std::max(kFirstPause, 2 * pause_));
  not_before_ns_ = Now() + absl::ToInt64Nanoseconds(pause_);
  trouble_ = std::move(why);
  return trouble_;
}

void HelperProcess::Stop() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (board_ != nullptr) munmap(board_, sizeof(HelperBoard));
  board_ = nullptr;
  if (pid_ == 0) return;
  // An idle helper has nothing to lose.
  kill(pid_, SIGKILL);
  if (options_.abandoned != nullptr) {
    options_.abandoned->Take(pid_);
  } else {
    for (int ms = 0; !Ended(pid_) && ms < kDyingMs; ++ms) poll(nullptr, 0, 1);
  }
  pid_ = 0;
}

absl::Status HelperProcess::Died() {
  return Failed(absl::UnavailableError(Cat("helper ", options_.name, " died")));
}

std::uint64_t HelperProcess::Changes() const {
  return board_ == nullptr ? 0 : board_->changes.load();
}

absl::Duration HelperProcess::Allowed() const {
  return hurry_ ? std::min(options_.timeout, options_.last_timeout) : options_.timeout;
}

std::int64_t HelperProcess::deadline_ns() const {
  return asked_ns_ + absl::ToInt64Nanoseconds(Allowed());
}

absl::Status HelperProcess::Ask(std::string_view request) {
  if (request.size() + 1 > kMaxHelperMessage) return absl::InvalidArgumentError("a request too long");
  if (socket_ < 0) RETURN_IF_ERROR(Start());
  where_.clear();
  // It waits for a request: there is room for one.
  if (!Send(socket_, request)) return Died();
  seen_changes_ = Changes();
  busy_ = 0;
  asked_ns_ = Now();
  hurry_ = Hurry();
  return absl::OkStatus();
}

std::optional<absl::StatusOr<std::string>> HelperProcess::Answer() {
  pollfd polled{socket_, POLLIN, 0};
  if (poll(&polled, 1, 0) > 0) {
    std::optional<std::string> answer = Receive(socket_);
    if (!answer) return Died();
    pause_ = absl::ZeroDuration();
    trouble_ = absl::OkStatus();
    return *std::move(answer);
  }
  if (!hurry_ && Hurry()) {
    hurry_ = true;
    asked_ns_ = Now();
  }
  if (Now() < deadline_ns()) return std::nullopt;
  const std::uint64_t changes = Changes();
  const bool advances = changes != seen_changes_;
  busy_ = advances ? 0 : busy_ + 1;
  if (!hurry_ && (advances || (busy_ < kBusyTimeouts && Runs(pid_)))) {
    seen_changes_ = changes;
    asked_ns_ = Now();
    return std::nullopt;
  }
  if (board_ != nullptr) where_.assign(board_->where.data(), strnlen(board_->where.data(), 1023));
  return Failed(absl::DeadlineExceededError(Cat("no answer for ", absl::FormatDuration(Allowed()))));
}

absl::StatusOr<std::string> HelperProcess::Call(std::string_view request) {
  RETURN_IF_ERROR(Ask(request));
  while (true) {
    if (std::optional<absl::StatusOr<std::string>> answer = Answer()) return *std::move(answer);
    const std::int64_t left = std::max<std::int64_t>(0, deadline_ns() - Now());
    std::array<pollfd, 2> polls{{{socket_, POLLIN, 0}, {hurry_ ? -1 : options_.hurry_fd, POLLIN, 0}}};
    if (poll(polls.data(), polls.size(), static_cast<int>(left / 1'000'000) + 1) < 0 && errno != EINTR) {
      return Died();
    }
  }
}

absl::StatusOr<HelperUser> FindHelperUser(const std::string& name) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return HelperUser{found->pw_uid, found->pw_gid};
  return absl::NotFoundError(
      Cat("there is no user '", name, "'", error != 0 ? ": " : "", error != 0 ? std::strerror(error) : ""));
}

}  // namespace goodput
