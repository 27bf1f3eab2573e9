// The protocol between goodput-reader and goodputd, over a pair of seqpacket sockets, for information that
// only root gets from Slurm. A request is one message, "ID WORD [ARGUMENT]", and so is a reply, "ID CODE
// TEXT" (CODE is absl's; 0 is OK).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/base/viewer.h"

namespace goodput {

// The reader's side. Thread-safe.
class Control {
 public:
  explicit Control(int socket) : socket_(socket) {}

  // Like Rights::Of and Rights::OfToken.
  absl::StatusOr<Viewer> ViewerOf(std::optional<uid_t> uid);
  absl::StatusOr<uid_t> UserOfToken(const std::string& token);
  absl::StatusOr<std::string> MungeSocket() { return Ask("munge"); }
  // goodputd's own samples for /metrics: families with their headers.
  absl::StatusOr<std::string> Metrics() { return Ask("metrics"); }
  // The body of /healthz; the same for an error.
  absl::StatusOr<std::string> Health() { return Ask("health"); }

 private:
  absl::StatusOr<std::string> Ask(const std::string& question);

  const int socket_;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;  // guarded by mutex_
};

// goodputd's side: answers the requests waiting on `socket`. Returns false if the reader is gone.
using ControlAnswers =
    std::function<absl::StatusOr<std::string>(std::string_view word, const std::string& argument)>;
bool AnswerControl(int socket, const ControlAnswers& answers);

}  // namespace goodput
