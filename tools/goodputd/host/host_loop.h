// The node daemon's thread that asks the cloud about the future of this machine and records notices for the
// jobs on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "tools/base/config.h"
#include "tools/base/http_client.h"
#include "tools/goodputd/host/metadata_watch.h"
#include "tools/goodputd/node_context.h"

namespace goodput {

// Which of the keys to request now, and what has been reported. Makes no requests itself: the caller
// sends due requests and passes responses.
class HostWatch {
 public:
  // `patient`: there is a metadata server, even if it does not answer yet. Otherwise a server that does not
  // answer is tried again once an hour, without a log message.
  HostWatch(const std::string& host, bool patient, Clock clock = kSystemClock);

  struct Due {
    HostKey key = HostKey::kMaintenance;
    HttpRequest request;
  };
  // The due requests; each counts as pending until its response is passed to Take.
  std::vector<Due> TakeDue();
  // The notice in a response, if it changed. The first responses decide whether there is a server.
  std::optional<NoticeKind> Take(HostKey key, const HttpAnswer& answer);
  // Time until a request is due; at most `longest`.
  absl::Duration UntilDue(absl::Duration longest) const;

  bool found() const { return found_; }
  // Why there is no server or no current notice; empty: no problem.
  std::string trouble() const;

  static constexpr absl::Duration kLookAgain = absl::Hours(1);

 private:
  struct Watched {
    MetadataWatch watch;
    std::int64_t due_ns = 0;
    bool under_way = false;
    std::string trouble;
  };
  std::vector<Watched> watched_;
  bool patient_;
  bool found_ = false;
  Clock clock_;
};

// Returns when `stop_fd` becomes readable; at once where it is not wanted.
void RunHostLoop(const NodeContext& node);

}  // namespace goodput
