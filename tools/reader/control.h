// How goodput-reader asks goodputd, over a pair of seqpacket sockets, what only root is told by Slurm. One
// message a question, "ID WORD [ARGUMENT]", and one an answer, "ID CODE TEXT" (CODE: absl's, 0 is OK).
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

// In goodput-reader. Threads may share it.
class Control {
 public:
  explicit Control(int socket) : socket_(socket) {}

  // As Rights::Of and Rights::OfToken.
  absl::StatusOr<Viewer> ViewerOf(std::optional<uid_t> uid);
  absl::StatusOr<uid_t> UserOfToken(const std::string& token);
  absl::StatusOr<std::string> MungeSocket() { return Ask("munge"); }
  // Samples of goodputd's own for /metrics, families with their heads.
  absl::StatusOr<std::string> Metrics() { return Ask("metrics"); }
  // What /healthz says; an error's text is its body, too.
  absl::StatusOr<std::string> Health() { return Ask("health"); }

 private:
  absl::StatusOr<std::string> Ask(const std::string& question);

  const int socket_;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;  // guarded by mutex_
};

// In goodputd: answers the questions that wait on `socket`. False: the reader is gone.
using ControlAnswers =
    std::function<absl::StatusOr<std::string>(std::string_view word, const std::string& argument)>;
bool AnswerControl(int socket, const ControlAnswers& answers);

}  // namespace goodput
