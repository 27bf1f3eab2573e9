// The node daemon's thread that asks the cloud what will become of this machine, and tells the jobs on it.
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

// Which of the three keys is to be asked for now, and what has been said. Makes no requests itself: whoever
// has the connections takes due requests and brings answers.
class HostWatch {
 public:
  // `patient`: there is a metadata server, also where it does not answer. Otherwise one that does not is
  // looked for again once an hour, without a word.
  HostWatch(const std::string& host, bool patient, Clock clock = kSystemClock);

  struct Due {
    HostKey key = HostKey::kMaintenance;
    HttpRequest request;
  };
  // Each is under way then, until its answer is taken.
  std::vector<Due> TakeDue();
  // What is said now, if it is another word. The first answers decide whether there is a server.
  std::optional<NoticeKind> Take(HostKey key, const HttpAnswer& answer);
  // Until something is due; at most `longest`.
  absl::Duration UntilDue(absl::Duration longest) const;

  bool found() const { return found_; }
  // Why there is no server, or no word of it now; empty: there is.
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
