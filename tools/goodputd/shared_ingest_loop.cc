#include "tools/goodputd/shared_ingest_loop.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/polling.h"
#include "tools/goodputd/problem_log.h"
#include "tools/sources/shared_spool/ingest_helper.h"

namespace goodput {
namespace {

// While the database is being claimed.
constexpr int kUnclaimedMs = 50;
constexpr std::int64_t kFirstAvoidedNs = 30'000'000'000;
constexpr std::int64_t kLongestAvoidedNs = 600'000'000'000;
// Longer than waiting for another writer of the database.
constexpr absl::Duration kTimeout = absl::Seconds(25);

// Folders that hung. One that has not hung again for as long as it was skipped is treated like any other.
class Avoided {
 public:
  // Returns the number of seconds to skip it.
  std::int64_t Add(const std::string& folder, std::int64_t now_ns) {
    Span& span = spans_[folder];
    span.for_ns = std::min(kLongestAvoidedNs, std::max(kFirstAvoidedNs, 2 * span.for_ns));
    span.until_ns = now_ns + span.for_ns;
    return span.for_ns / 1'000'000'000;
  }
  std::set<std::string> Now(std::int64_t now_ns) {
    std::set<std::string> names;
    for (auto at = spans_.begin(); at != spans_.end();) {
      const Span& span = at->second;
      if (now_ns < span.until_ns) names.insert(at->first);
      at = now_ns > span.until_ns + span.for_ns ? spans_.erase(at) : std::next(at);
    }
    return names;
  }

 private:
  struct Span {
    std::int64_t for_ns = 0;
    std::int64_t until_ns = 0;
  };
  std::map<std::string, Span> spans_;
};

}  // namespace

void RunSharedIngestLoop(const Config& config, const std::string& writer, int stop_fd, Liveness& alive) {
  Complaint trouble;
  Problems problems("ingest");
  Avoided avoided;
  AbandonedHelpers abandoned(kMostAbandoned);
  HelperProcess::Options options;
  options.name = kIngestHelper;
  options.arguments = IngestHelperArguments(config, writer);
  options.abandoned = &abandoned;
  options.timeout = kTimeout;
  options.hurry_fd = stop_fd;
  HelperProcess helper(options);
  pollfd stop{stop_fd, POLLIN, 0};
  int pause_ms = kLookEveryMs;
  do {
    if (alive.standby || !alive.claimed) {
      pause_ms = alive.standby ? kLookEveryMs : kUnclaimedMs;
      continue;
    }
    const std::int64_t began_ns = kSystemClock.mono_ns();
    const absl::StatusOr<std::string> answer = helper.Call(IngestRequest(avoided.Now(began_ns)));
    if (!answer.ok()) {
      if (poll(&stop, 1, 0) != 0) return;
      std::string what =
          Cat("shared_spool ", config.shared_spool, ": its ingest helper: ", Message(answer.status()));
      if (absl::IsDeadlineExceeded(answer.status()) && !helper.where().empty()) {
        const std::int64_t for_s = avoided.Add(helper.where(), kSystemClock.mono_ns());
        Log(Cat("shared_spool ", config.shared_spool, ": the folder ", helper.where(),
                " hangs; skipping it for ", for_s, " s"));
      }
      trouble.Say(what);
      pause_ms = kLookEveryMs;
      continue;
    }
    const absl::StatusOr<IngestReport> report = ParseIngestAnswer(*answer);
    trouble.Say(report.ok() ? "" : Message(report.status()));
    if (absl::IsDataLoss(report.status())) alive.damaged = true;
    if (report.ok()) alive.ingested_ns = kSystemClock.mono_ns();
    if (report.ok()) problems.Say(report->problems);
    const auto took_ms = static_cast<int>((kSystemClock.mono_ns() - began_ns) / 1'000'000);
    if (!report.ok()) {
      pause_ms = std::min(2 * std::max(pause_ms, kLookEveryMs), kLongestPauseMs);
    } else {
      pause_ms = report->whole ? std::max(kLookEveryMs, took_ms) : 0;
    }
  } while (poll(&stop, 1, pause_ms) == 0);
}

}  // namespace goodput
