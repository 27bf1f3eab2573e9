#include "tools/otlp/mark_sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "tools/base/unix_socket.h"

namespace goodput {
namespace {

constexpr int kWaitMs = 5;
constexpr std::int64_t kRetryNs = 1'000'000'000;
constexpr const char* kDefaultSocket = "@goodput";
// goodputd takes a mark of more than an hour ago for one of now.
constexpr std::int64_t kOldestNs = 3'500'000'000'000;
// Clocks of the same machine.
constexpr std::int64_t kAheadNs = 1'000'000'000;
// Concurrent saves count as those of different tasks.
constexpr std::int64_t kTasksPerLane = kMostRank + 1;

std::string Environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

MarkConnection::MarkConnection(Clock clock) : clock_(clock) {}

MarkConnection::~MarkConnection() {
  if (fd_ >= 0) close(fd_);
}

bool MarkConnection::Connect() {
  if (fd_ >= 0) return true;
  if (clock_.mono_ns() < retry_ns_) return false;
  std::string name = Environment("GOODPUT_SOCKET");
  if (name.empty()) name = kDefaultSocket;
  fd_ = ConnectUnixSocket(name);
  if (fd_ < 0 && name.front() == '@') {
    const std::string path = Environment("GOODPUT_SOCKET_PATH");
    fd_ = ConnectUnixSocket(path.empty() ? std::string(kMarkSocketPath) : path);
  }
  if (fd_ < 0) retry_ns_ = clock_.mono_ns() + kRetryNs;
  return fd_ >= 0;
}

bool MarkConnection::Send(const std::string& message) {
  // A daemon that was restarted: the first try finds the old connection closed.
  for (int tries = 0; tries < 2 && Connect(); ++tries) {
    pollfd writable{fd_, POLLOUT, 0};
    if (poll(&writable, 1, kWaitMs) == 1 && (writable.revents & (POLLERR | POLLHUP)) == 0 &&
        send(fd_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
            static_cast<ssize_t>(message.size()))
      return true;
    close(fd_);
    fd_ = -1;
  }
  retry_ns_ = clock_.mono_ns() + kRetryNs;
  ++dropped_;
  return false;
}

void MarkSink::Tell(Ns t, const Speaker& speaker, MarkMessage mark) {
  const std::int64_t age = clock_.real_ns() - t;
  if (age > kOldestNs || age < -kAheadNs) {
    ++untimely_;
    return;
  }
  mark.job = identity_.job;
  mark.slurm_step = identity_.slurm_step;
  mark.node = identity_.node;
  mark.task = speaker.rank.value_or(identity_.task.value_or(0)) + speaker.task * kTasksPerLane;
  mark.mono_ns = clock_.mono_ns() - std::max<std::int64_t>(0, age);
  send_(FormatMark(mark));
}

absl::Status MarkSink::Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t /*offset*/) {
  MarkMessage mark;
  mark.kind = MarkMessage::Kind::kStep;
  mark.train_step = step;
  Tell(t, speaker, std::move(mark));
  return absl::OkStatus();
}

absl::Status MarkSink::Mark(const LogMark& from, const Speaker& speaker, std::int64_t /*offset*/) {
  MarkMessage mark;
  switch (from.kind) {
    case PackedMark::Kind::kCheckpoint:
      mark.kind = MarkMessage::Kind::kCheckpoint;
      break;
    case PackedMark::Kind::kRestore:
      mark.kind = MarkMessage::Kind::kRestore;
      break;
    case PackedMark::Kind::kPhase:
      mark.kind = MarkMessage::Kind::kPhase;
      break;
    case PackedMark::Kind::kStepEnd:
      mark.kind = MarkMessage::Kind::kStep;
      break;
  }
  mark.begin = from.begin;
  mark.train_step = from.step;
  mark.name = std::string(from.name);
  Tell(from.t, speaker, std::move(mark));
  return absl::OkStatus();
}

absl::Status MarkSink::World(const LogWorld& world, const Speaker& speaker, std::int64_t /*offset*/) {
  MarkMessage mark;
  mark.kind = MarkMessage::Kind::kWorld;
  mark.world = world.stepping;
  mark.wanted = world.wanted;
  mark.spares = world.spares;
  Tell(world.t, speaker, std::move(mark));
  return absl::OkStatus();
}

// Slurm knows these better.
absl::Status MarkSink::Srun(const LogSrun& /*srun*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) {
  return absl::OkStatus();
}
absl::Status MarkSink::Attempt(const LogAttempt& /*attempt*/) {
  return absl::OkStatus();
}

}  // namespace goodput
