// Sends what spans tell to goodputd, as marks of the job in whose environment this program runs: what a span
// says of jobs is not believed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "spank/clock.h"
#include "tools/base/mark_message.h"
#include "tools/sources/logs/log_sink.h"

namespace goodput {

// A lasting connection to goodputd's mark socket. A mark waits at most 5 ms; one that cannot be sent is
// dropped and counted, and the next attempt to connect is made a second later.
class MarkConnection {
 public:
  // From GOODPUT_SOCKET and GOODPUT_SOCKET_PATH.
  explicit MarkConnection(Clock clock = kSystemClock);
  ~MarkConnection();
  MarkConnection(const MarkConnection&) = delete;
  MarkConnection& operator=(const MarkConnection&) = delete;

  // Connects, if it is not connected: goodputd then knows the job's process before its first mark.
  bool Connect();
  bool Send(const std::string& message);
  std::int64_t dropped() const { return dropped_; }

 private:
  Clock clock_;
  int fd_ = -1;
  std::int64_t retry_ns_ = 0;
  std::int64_t dropped_ = 0;
};

class MarkSink final : public LogSink {
 public:
  using Send = std::function<bool(const std::string& message)>;

  // `identity`: a mark with the job, Slurm step, task and node. A rank that the program gives itself replaces
  // the task, since one receiver may hear several.
  MarkSink(MarkMessage identity, Send send, Clock clock = kSystemClock)
      : identity_(std::move(identity)), send_(std::move(send)), clock_(clock) {}

  absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) override;
  absl::Status World(const LogWorld& world, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Attempt(const LogAttempt& attempt) override;

  // Marks of a time that goodputd would not accept any more, or that is yet to come.
  std::int64_t untimely() const { return untimely_; }

 private:
  void Tell(Ns t, const Speaker& speaker, MarkMessage mark);

  MarkMessage identity_;
  Send send_;
  Clock clock_;
  std::int64_t untimely_ = 0;
};

}  // namespace goodput
