#include "tools/goodputd/shared_ingest_loop.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/problems.h"
#include "tools/ship/ingest_helper.h"

namespace goodput {
namespace {

constexpr int kIntervalMs = 1000;
constexpr int kLongestPauseMs = 30'000;
constexpr int kMostAbandoned = 4;
constexpr std::int64_t kAvoidedNs = 600'000'000'000;
// Longer than the wait for another who writes to the database.
constexpr absl::Duration kTimeout = absl::Seconds(25);

// Folders that hung, each until when.
class Avoided {
 public:
  void Add(const std::string& folder, std::int64_t now_ns) { until_ns_[folder] = now_ns + kAvoidedNs; }
  std::set<std::string> Now(std::int64_t now_ns) {
    std::set<std::string> names;
    for (auto folder = until_ns_.begin(); folder != until_ns_.end();) {
      if (folder->second <= now_ns) {
        folder = until_ns_.erase(folder);
      } else {
        names.insert((folder++)->first);
      }
    }
    return names;
  }

 private:
  std::map<std::string, std::int64_t> until_ns_;
};

}  // namespace

void RunSharedIngestLoop(const Config& config, int stop_fd) {
  Complaint trouble;
  Problems problems("ingest");
  Avoided avoided;
  AbandonedHelpers abandoned(kMostAbandoned);
  HelperProcess::Options options;
  options.name = kIngestHelper;
  options.arguments = IngestHelperArguments(config);
  options.abandoned = &abandoned;
  options.timeout = kTimeout;
  options.hurry_fd = stop_fd;
  HelperProcess helper(options);
  pollfd stop{stop_fd, POLLIN, 0};
  int pause_ms = kIntervalMs;
  do {
    const std::int64_t began_ns = kSystemClock.mono_ns();
    const absl::StatusOr<std::string> answer = helper.Call(IngestRequest(avoided.Now(began_ns)));
    if (!answer.ok()) {
      if (poll(&stop, 1, 0) != 0) return;
      std::string what =
          Cat("shared_spool ", config.shared_spool, ": its ingest helper: ", Message(answer.status()));
      if (absl::IsDeadlineExceeded(answer.status()) && !helper.where().empty()) {
        avoided.Add(helper.where(), kSystemClock.mono_ns());
        Log(Cat("shared_spool ", config.shared_spool, ": the folder ", helper.where(),
                " hangs; it is left alone for ten minutes"));
      }
      trouble.Say(what);
      pause_ms = kIntervalMs;
      continue;
    }
    const absl::StatusOr<IngestReport> report = ParseIngestAnswer(*answer);
    trouble.Say(report.ok() ? "" : Message(report.status()));
    if (report.ok()) problems.Say(report->problems);
    const auto took_ms = static_cast<int>((kSystemClock.mono_ns() - began_ns) / 1'000'000);
    if (!report.ok()) {
      pause_ms = std::min(2 * std::max(pause_ms, kIntervalMs), kLongestPauseMs);
    } else {
      pause_ms = report->whole ? std::max(kIntervalMs, took_ms) : 0;
    }
  } while (poll(&stop, 1, pause_ms) == 0);
}

}  // namespace goodput
