#include "tools/reader/control.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestMessage = 16384;
// Slurm's commands wait for a controller that is down.
constexpr std::int64_t kTimeoutNs = 20'000'000'000;

// Empty: no message, or end of file.
std::string Receive(int socket, int flags) {
  std::string message(kLongestMessage, '\0');
  ssize_t got = -1;
  do {
    got = recv(socket, message.data(), message.size(), flags);
  } while (got < 0 && errno == EINTR);
  message.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return message;
}

bool Send(int socket, const std::string& message) {
  return send(socket, message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

// Removes the text up to the next blank from `text`.
std::string_view NextWord(std::string_view& text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, blank);
  text.remove_prefix(std::min(blank + 1, text.size()));
  return word;
}

}  // namespace

absl::StatusOr<std::string> Control::Ask(const std::string& question) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string id = Cat(++last_id_);
  if (question.size() > kLongestMessage / 2) return absl::PermissionDeniedError("too long");
  const absl::Status gone = absl::UnavailableError("goodputd does not answer");
  if (!Send(socket_, Cat(id, " ", question))) return gone;
  const std::int64_t until = kSystemClock.mono_ns() + kTimeoutNs;
  while (true) {
    const std::int64_t left = until - kSystemClock.mono_ns();
    pollfd polled{socket_, POLLIN, 0};
    if (left <= 0 || poll(&polled, 1, static_cast<int>(left / 1'000'000) + 1) == 0) return gone;
    const std::string message = Receive(socket_, MSG_DONTWAIT);
    if (message.empty()) return gone;
    std::string_view rest = message;
    // The reply to a request that timed out.
    if (NextWord(rest) != id) continue;
    int code = 0;
    if (!absl::SimpleAtoi(ToAbsl(NextWord(rest)), &code)) return gone;
    if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), ToAbsl(rest));
    return std::string(rest);
  }
}

absl::StatusOr<Viewer> Control::ViewerOf(std::optional<uid_t> uid) {
  ASSIGN_OR_RETURN(const std::string text, Ask(uid ? Cat("viewer ", *uid) : "viewer"));
  return ParseViewer(text);
}

absl::StatusOr<uid_t> Control::UserOfToken(const std::string& token) {
  ASSIGN_OR_RETURN(const std::string text, Ask(Cat("token ", token)));
  uid_t uid = 0;
  if (!absl::SimpleAtoi(text, &uid)) return absl::InternalError("malformed reply from goodputd");
  return uid;
}

bool AnswerControl(int socket, const ControlAnswers& answers) {
  while (true) {
    pollfd polled{socket, POLLIN, 0};
    if (poll(&polled, 1, 0) <= 0) return true;
    const std::string message = Receive(socket, MSG_DONTWAIT);
    if (message.empty()) return false;
    std::string_view rest = message;
    const std::string_view id = NextWord(rest);
    const std::string_view word = NextWord(rest);
    const absl::StatusOr<std::string> answer = answers(word, std::string(rest));
    const int code = static_cast<int>(answer.status().code());
    Send(socket, Cat(id, " ", code, " ", answer.ok() ? *answer : Message(answer.status())));
  }
}

}  // namespace goodput
