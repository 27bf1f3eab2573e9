// Isolates work that may hang in a child process: the child touches file systems on other machines or a
// user's own folders, and the parent only waits for its replies, for a bounded time. A child that does not
// reply is killed. One that does not even die (it waits in the kernel for a server that is gone) is abandoned
// and reaped when it ends; only a few of those are allowed at a time.
//
// The child is this program again (/proc/self/exe, so that an upgrade in between does not matter), started
// with posix_spawn, since a process with threads must not run C++ after a fork. It switches to the given user
// before it touches any path, ignores SIGTERM and SIGINT (its parent decides; systemd signals both), and ends
// with its socket or with the thread that started it. Request and reply are bytes, one message each.
//
// A program with helpers calls, before anything else:
//   if (const std::optional<int> code = RunHelper(argc, argv, {{"ship", ShipHelper}})) return *code;
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

// Maximum size of a message.
inline constexpr std::size_t kMaxHelperMessage = (std::size_t{64} << 10U) + 4096;

// ---- in the child

// A helper calls this while it works on a request: it restarts the parent's timeout, and if the helper hangs,
// the last `where` (at most 1 KiB) tells where. Costs no system call.
using HelperProgress = std::function<void(std::string_view where)>;
// Answers one request; it may keep state between requests.
using HelperAnswers = std::function<std::string(std::string_view request, const HelperProgress& at)>;
// Creates the function that answers, from the helper's arguments.
using Helper = HelperAnswers (*)(const std::vector<std::string>& arguments);
struct NamedHelper {
  std::string_view name;
  Helper helper;
};
// If the command line is that of a helper (`PROGRAM --helper NAME UID GID[+] [ARGUMENT ...]`), serves until
// the parent is gone and returns the exit code. Otherwise returns nullopt.
std::optional<int> RunHelper(int argc, char** argv, std::initializer_list<NamedHelper> helpers);

// ---- in the parent

// Children that were killed and have not ended. Shared by helpers whose children hang together, such as all
// those of one mount. Thread-safe.
class AbandonedHelpers {
 public:
  explicit AbandonedHelpers(int most) : most_(most) {}
  // Whether another may be started: not too many hang.
  bool MayStart() { return Count().hanging < most_; }
  void Take(pid_t child);
  struct Counts {
    std::size_t ending = 0;  // killed a moment ago
    std::size_t hanging = 0;
  };
  // Reaps those that have ended, and counts the others.
  Counts Count();

 private:
  struct Child {
    pid_t pid = 0;
    std::int64_t killed_ns = 0;  // CLOCK_MONOTONIC
  };
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<Child> children_;
};

struct HelperUser {
  uid_t uid = 0;
  gid_t gid = 0;
  // Whether to add all groups of this user; otherwise it has no other group. Looked up in the child, since a
  // directory service may be slow.
  bool all_groups = false;
};

struct HelperBoard;

class HelperProcess {
 public:
  struct Options {
    std::string name;
    std::vector<std::string> arguments;
    std::optional<HelperUser> user;  // absent: this process's
    AbandonedHelpers* abandoned = nullptr;
    // Of one call, or between two progress reports. One that then has a processor, or waits for one, does not
    // hang, but the machine is busy: it has kBusyTimeouts times as long.
    absl::Duration timeout = absl::Seconds(5);
    // Before another child is started; begins at 1 s and doubles.
    absl::Duration longest_pause = absl::Seconds(30);
    // Once it is readable, no call waits longer than `last_timeout`, and restarts are not delayed.
    int hurry_fd = -1;
    absl::Duration last_timeout = absl::Seconds(1);
  };
  explicit HelperProcess(Options options) : options_(std::move(options)) {}
  ~HelperProcess() { Stop(); }
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Sends a request and waits for the answer; starts the helper if none is running. DeadlineExceeded: it did
  // not answer in time and was killed. Unavailable: it died, could not be started, or the pause after such a
  // failure is not over; the text stays the same for as long as the problem lasts.
  absl::StatusOr<std::string> Call(std::string_view request);

  // The same in two parts, for a thread that has several helpers. Between Ask and the end of Answer it polls
  // fd() and calls Answer once that is readable, and at deadline_ns() at the latest.
  absl::Status Ask(std::string_view request);
  // The answer or the failure; null: neither yet.
  std::optional<absl::StatusOr<std::string>> Answer();
  // Readable when the answer is there; -1: no helper is running.
  int fd() const { return socket_; }
  static constexpr int kBusyTimeouts = 12;
  // CLOCK_MONOTONIC. A helper that shows progress moves it.
  std::int64_t deadline_ns() const;
  // For the next helper that is started.
  void SetArguments(std::vector<std::string> arguments) { options_.arguments = std::move(arguments); }
  // Where the last call that was not answered in time was, as the helper said it.
  const std::string& where() const { return where_; }
  // 0: none is running.
  pid_t pid() const { return pid_; }
  // It was asked, and has not yet begun to answer: the system loads the program, or looks up the user.
  bool starting() const { return board_ != nullptr && Changes() == 0; }
  void Stop();

 private:
  absl::Status Start();
  absl::Status Failed(absl::Status why);
  absl::Status Died();
  bool Hurry() const;
  std::uint64_t Changes() const;
  absl::Duration Allowed() const;

  Options options_;
  pid_t pid_ = 0;
  int socket_ = -1;
  HelperBoard* board_ = nullptr;
  std::int64_t asked_ns_ = 0;  // CLOCK_MONOTONIC: when it was asked, or last seen to make progress
  std::uint64_t seen_changes_ = 0;
  int busy_ = 0;  // timeouts since then, at which it did not hang
  bool hurry_ = false;
  std::string where_;
  absl::Duration pause_ = absl::ZeroDuration();
  std::int64_t not_before_ns_ = 0;  // CLOCK_MONOTONIC
  absl::Status trouble_;
};

// The user with that name in the system's databases. NotFound: there is none.
absl::StatusOr<HelperUser> FindHelperUser(const std::string& name);

}  // namespace goodput
