// Sends the runs of one cluster's database as telemetry: sums and ratios of ended runs, and the spans of
// attempts and runs that ended.
//
// The database is only read. Spans are remembered as sent after a server took or refused them, and sums
// before they are sent: so a sender that is killed at any time loses nothing, sends spans twice at most with
// the same ids, and no sum falls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/accounting/report/report.h"
#include "tools/base/gpu_peaks.h"
#include "tools/sources/telemetry/delivery.h"
#include "tools/sources/telemetry/gpu_time.h"
#include "tools/sources/telemetry/run_spans.h"
#include "tools/sources/telemetry/sent_state.h"
#include "tools/sources/telemetry/targets.h"

namespace goodput {

struct TelemetrySettings {
  std::string database;
  std::string cluster;
  std::string state_file;
  std::vector<GpuPeak> peaks;  // in addition to the published ones
  std::optional<Ns> since;     // send spans that ended after it; absent: as the state file says, else one day
};

// What the sender needs of the world.
struct TelemetryWorld {
  std::function<Ns()> now;
  std::function<void(absl::Duration)> sleep;
  std::function<double()> chance;  // 0..1
  std::function<HttpAnswer(const HttpRequest&)> post;
  // Before each pass: secrets may have been replaced.
  std::function<absl::StatusOr<OtlpTargets>()> targets;
};

struct TelemetryPass {
  std::int64_t runs = 0;      // that ended
  std::int64_t points = 0;    // delivered
  std::int64_t spans = 0;     // delivered
  std::int64_t rejected = 0;  // of these
  std::int64_t refused = 0;   // spans and points that were not delivered, and never will be
  std::int64_t waiting = 0;   // attempts and runs whose spans are still to be sent
  bool more = false;          // of these, some did not fit into this pass
  bool failed = false;        // a server gave no answer, or asked to try again: the next pass does
  std::map<std::string, std::string> problems;  // by what they are: where, what and why
};

class TelemetrySender {
 public:
  TelemetrySender(TelemetrySettings settings, TelemetryWorld world)
      : settings_(std::move(settings)), world_(std::move(world)) {}
  ~TelemetrySender();
  TelemetrySender(const TelemetrySender&) = delete;
  TelemetrySender& operator=(const TelemetrySender&) = delete;

  // Reads what was sent. Fails if another process sends with the same file. A damaged file is replaced, which
  // `said` tells.
  absl::Status Open(std::string& said);

  // An error is about this machine. What servers answered is in the result.
  absl::StatusOr<TelemetryPass> Pass();

 private:
  struct Batch {
    std::vector<std::string> spans;
    std::size_t bytes = 0;
    std::vector<std::pair<std::string, std::int64_t>> groups;  // that end with this batch, as in SentState
  };
  struct Gathered {
    std::vector<RunShare> shares;
    std::vector<Batch> batches;
    std::size_t bytes = 0;
  };
  // Runs that ended long ago and were sent: they are looked at once an hour.
  struct OldRuns {
    std::vector<RunShare> shares;
    std::vector<UnitKey> keys;
  };
  // Of one kind of telemetry.
  struct Pause {
    Ns until = 0;  // as the server asked
  };

  absl::Status Gather(const OtlpTargets& targets, TelemetryPass& pass, Gathered& gathered);
  absl::Status LookAt(const OtlpTargets& targets, const std::vector<JobKey>& group, Database& db,
                      ClusterReader& cluster, TelemetryPass& pass, Gathered& gathered);
  bool Take(const OtlpTarget& target, const Report& report, TelemetryPass& pass, Gathered& gathered);
  static void AddGroup(const OtlpTarget& target, SpanGroup group, Gathered& gathered);
  void SetSums(const std::vector<RunShare>& shares);
  absl::Status SendMetrics(const OtlpTargets& targets, const std::vector<RunShare>& shares,
                           TelemetryPass& pass);
  absl::Status SendTraces(const OtlpTargets& targets, const std::vector<Batch>& batches, TelemetryPass& pass);
  // Also counts. Retries for a while.
  Delivery Send(const OtlpTarget& target, const std::string& body, std::int64_t items, Pause& pause,
                SentCounts& counts, TelemetryPass& pass);
  OtlpAttributes Resource(const OtlpTargets& targets) const;
  absl::Status Save() { return SaveSentState(settings_.state_file, state_); }

  TelemetrySettings settings_;
  TelemetryWorld world_;
  SentState state_;
  int lock_ = -1;
  Ns full_ = 0;                         // when all runs were last looked at
  std::map<std::string, OldRuns> old_;  // by their jobs
  std::set<UnitKey> seen_;              // runs of the current pass
  Pause metrics_pause_;
  Pause traces_pause_;
};

// Before compression; servers take 4 MB and more.
inline constexpr std::size_t kMostRequestBytes = 3'500'000;

}  // namespace goodput
