// `sgoodput mark`: reports a job's training progress. Scripts run it once per step, so it is fast (no
// database, no other parser), waits at most 5 ms, and never fails the script unless told otherwise.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/mark_message.h"
#include "tools/base/unix_socket.h"
#include "tools/sgoodput/options.h"

namespace goodput {
namespace {

constexpr const char* kHelp = R"(Usage: sgoodput mark [--strict] WHAT

Tells goodputd on this node where the training of this Slurm job is.

  step N                      training step N begins
  step N failed               it failed and is tried again: its time until now is lost work
  checkpoint begin|end [N]    a save of step N begins, or is complete
  restore begin|end [N]       the checkpoint of step N is being loaded, or is loaded
  phase NAME begin|end        a phase: init, data_loading, compile, evaluation or a name of your own
  world W [of N] [spares S] [tokens T]
                              W GPUs step from now on, N should; S more are spares; T tokens a step

      --strict                exit 1 if the mark cannot be sent, 2 if it is invalid
                              (without it the exit status is always 0)

Examples:
  sgoodput mark step 1200
  sgoodput mark checkpoint begin 1200; save; sgoodput mark checkpoint end 1200
  sgoodput mark phase evaluation begin
  sgoodput mark world 48 of 64

It takes the job, step and task from Slurm's environment and the socket from GOODPUT_SOCKET.
)";

constexpr int kWaitMs = 5;
constexpr const char* kDefaultSocket = "@goodput";

std::string EnvText(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

bool ParseEdge(std::string_view word, MarkMessage& mark) {
  mark.begin = word == "begin";
  return mark.begin || word == "end";
}

bool ParseNumber(std::string_view word, std::int64_t& number) {
  return absl::SimpleAtoi(ToAbsl(word), &number) && number >= 0;
}

// world W [of N] [spares S] [tokens T]
bool ParseWorld(const std::vector<std::string_view>& words, MarkMessage& mark) {
  mark.kind = MarkMessage::Kind::kWorld;
  if (words.size() % 2 != 0 || !ParseNumber(words[1], mark.world)) return false;
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    std::optional<std::int64_t>* const known = words[i] == "of"       ? &mark.wanted
                                               : words[i] == "spares" ? &mark.spares
                                               : words[i] == "tokens" ? &mark.tokens
                                                                      : nullptr;
    std::int64_t number = 0;
    if (known == nullptr || *known || !ParseNumber(words[i + 1], number)) return false;
    *known = number;
  }
  return WrongWorld(mark).empty();
}

bool ParseStep(std::string_view word, MarkMessage& mark) {
  std::int64_t step = 0;
  if (!absl::SimpleAtoi(ToAbsl(word), &step) || step < 0) return false;
  mark.train_step = step;
  return true;
}

absl::StatusOr<MarkMessage> ParseWords(const std::vector<std::string_view>& words) {
  MarkMessage mark;
  const auto bad = [](std::string_view why) { return absl::InvalidArgumentError(ToAbsl(why)); };
  if (words.empty())
    return bad("missing argument: step, checkpoint, restore, phase or world; see sgoodput mark --help");
  if (words[0] == "step") {
    mark.kind = MarkMessage::Kind::kStep;
    const bool failed = words.size() == 3 && words[2] == kStepFailed;
    if ((words.size() != 2 && !failed) || !ParseStep(words[1], mark))
      return bad("usage: sgoodput mark step N [failed]");
    mark.begin = !failed;
    if (failed) mark.name = std::string(kStepFailed);
  } else if (words[0] == "checkpoint" || words[0] == "restore") {
    mark.kind = words[0] == "restore" ? MarkMessage::Kind::kRestore : MarkMessage::Kind::kCheckpoint;
    const bool good =
        (words.size() == 2 || (words.size() == 3 && ParseStep(words[2], mark))) && ParseEdge(words[1], mark);
    if (!good) return bad(Cat("usage: sgoodput mark ", words[0], " begin|end [N]"));
  } else if (words[0] == "phase") {
    mark.kind = MarkMessage::Kind::kPhase;
    const bool good = words.size() == 3 && !words[1].empty() && words[1].size() <= kMaxPhaseName &&
                      ParseEdge(words[2], mark);
    if (!good) return bad("usage: sgoodput mark phase NAME begin|end, NAME at most 128 bytes");
    mark.name = std::string(words[1]);
  } else if (words[0] == "world") {
    if (!ParseWorld(words, mark)) {
      return bad(
          "usage: sgoodput mark world W [of N] [spares S] [tokens T], in GPUs, W at least 1 and N at least "
          "W");
    }
  } else {
    return bad(Cat("unknown mark '", words[0], "': use step, checkpoint, restore, phase or world"));
  }
  ASSIGN_OR_RETURN(const MarkMessage identity, MarkOfThisTask());
  mark.job = identity.job;
  mark.task = identity.task;
  mark.node = identity.node;
  mark.slurm_step = identity.slurm_step;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  mark.mono_ns = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  return mark;
}

absl::Status Send(const std::string& message) {
  std::string name = EnvText("GOODPUT_SOCKET");
  if (name.empty()) name = kDefaultSocket;
  int fd = ConnectUnixSocket(name);
  const int why = errno;
  std::string path = EnvText("GOODPUT_SOCKET_PATH");
  if (path.empty()) path = kMarkSocketPath;
  if (fd < 0 && name.front() == '@') fd = ConnectUnixSocket(path);
  absl::Status status;
  if (fd < 0) {
    status = absl::UnavailableError(Cat("cannot reach goodputd at ", name, ": ", std::strerror(why)));
  } else {
    pollfd writable{fd, POLLOUT, 0};
    if (poll(&writable, 1, kWaitMs) != 1 ||
        send(fd, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
            static_cast<ssize_t>(message.size())) {
      status = absl::UnavailableError(Cat("goodputd at ", name, " does not accept marks now"));
    }
  }
  if (fd >= 0) close(fd);
  return status;
}

}  // namespace

int RunMark(int argc, char** argv) {
  bool strict = false;
  std::vector<std::string_view> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      return kAnswered;
    }
    if (word == "--strict") {
      strict = true;
    } else {
      words.push_back(word);
    }
  }
  const absl::StatusOr<MarkMessage> mark = ParseWords(words);
  if (!mark.ok()) {
    std::fprintf(stderr, "sgoodput mark: %s\n", Message(mark.status()).c_str());
    return strict ? kBadUsage : kAnswered;
  }
  const absl::Status sent = Send(FormatMark(*mark));
  if (sent.ok() || !strict) return kAnswered;
  std::fprintf(stderr, "sgoodput mark: %s\n", Message(sent).c_str());
  return kNothingMatched;
}

}  // namespace goodput
