// Sends the runs of one cluster, and what became of the time of its nodes, to the fleet database.
//
// What was sent is known from the fleet database alone: a digest of each run. A pass makes the rows of the
// cluster's runs from its own database and sends those whose digest differs, each run as a whole. So nothing
// can be sent twice, or be forgotten: a pass that was killed, that lost its connection while the server
// committed, or that finds an older copy of either database, is followed by one that compares again.
//
// A transaction locks the cluster's row and raises its revision, which is a clock that never goes back.
// Another process that sent rows in between has raised it too: then this one reads the digests again.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
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
#include "tools/accounting/fleet_rows/node_day_rows.h"
#include "tools/base/gpu_peaks.h"
#include "tools/sources/fleet_database/connection.h"

namespace goodput {

struct FleetSyncSettings {
  std::string fleet_url;
  std::string database;        // the cluster's own
  std::string cluster;         // its name
  std::string cluster_url;     // where its runs can be shown in full; empty: nowhere
  std::vector<GpuPeak> peaks;  // in addition to the published ones
  std::function<Ns()> now;     // the clock
};

// A recent pass leaves out runs that ended more than two hours ago and were sent; a full one compares all;
// kVerify compares all and sends nothing.
enum class FleetPass : std::uint8_t { kRecent, kFull, kVerify };

struct FleetPassReport {
  std::int64_t runs = 0;       // that were looked at
  std::int64_t running = 0;    // of these
  std::int64_t sent = 0;       // runs; with kVerify: that would be sent
  std::int64_t missing = 0;    // of these, runs that the fleet did not have
  std::int64_t removed = 0;    // runs that became part of others
  std::int64_t rows = 0;       // sent
  std::int64_t elsewhere = 0;  // jobs of other clusters in this database, which are not sent
  std::int64_t refused = 0;    // runs that cannot be sent
  std::string why_refused;     // of the first
  // Days of nodes; a recent pass does not look at them.
  std::int64_t days = 0;
  std::int64_t days_sent = 0;     // with kVerify: that would be sent
  std::int64_t days_missing = 0;  // of these, days that the fleet did not have
};

class FleetSync {
 public:
  explicit FleetSync(FleetSyncSettings settings) : settings_(std::move(settings)) {}

  // Runs one pass. An error ends it; the next pass connects again. Aborted: another process sent rows of this
  // cluster. `said` is called now and then with the number of runs so far and of all.
  absl::StatusOr<FleetPassReport> Pass(FleetPass pass,
                                       const std::function<void(std::int64_t, std::int64_t)>& said = {});

  // From now on, runs that overlap [begin, end) are sent again even if nothing changed.
  void Resend(Ns begin, Ns end) { resend_ = {begin, end}; }

 private:
  struct Batch {
    std::vector<FleetRows> units;
    std::set<UnitKey> gone;  // runs that became part of others
    std::vector<NodeDayRows> days;
    std::size_t rows = 0;

    bool empty() const { return units.empty() && gone.empty() && days.empty(); }
    Ns since = 0;
  };
  // A batch for the server, in one transaction.
  struct Change {
    std::vector<FleetRows> units;
    std::vector<std::string> replaced;  // units whose rows are deleted first
    std::vector<NodeDayRows> days;
    std::vector<std::string> replaced_days;
    Ns before = 0;  // the cluster's revision until then
    Ns rev = 0;
  };
  struct Looking;

  absl::Status Connect();
  absl::Status LoadSent();
  absl::Status LookAtAll(Looking& looking, const std::function<void(std::int64_t, std::int64_t)>& said);
  absl::Status LookAt(Looking& looking, const std::vector<JobKey>& group);
  absl::Status Take(Looking& looking, FleetRows rows, bool resend);
  bool IsSent(const JobKey& job) const;
  absl::Status LookAtNodes(Looking& looking);
  absl::Status TakeDay(Looking& looking, NodeDayRows rows, bool final);
  void FindGone(Looking& looking, const std::vector<JobKey>& group, const Report& report);
  bool IsFull(const Batch& batch) const;
  absl::Status Flush(Looking& looking);
  absl::Status Settle();
  // In another thread until Settle, which alone uses the connection and months_ meanwhile.
  absl::Status Send(const Change& change);
  absl::Status Write(const Change& change);
  absl::Status DeleteReplaced(const Change& change);
  // Through a temporary table: COPY cannot check row-level security. Citus sends rows to its workers by COPY,
  // unless they come one by one.
  absl::Status Insert(const std::string& table, const std::vector<std::string>& columns,
                      const std::vector<std::string>& lines);
  absl::Status CreateMonths(const Change& change);
  absl::Status SayHeard(const FleetPassReport& report, Ns as_of);

  FleetSyncSettings settings_;
  std::optional<FleetConnection> connection_;
  std::map<UnitKey, Digest> sent_;  // what the fleet has, or gets with the batch being sent
  std::map<std::int64_t, Digest> sent_days_;
  std::set<std::int64_t> months_;  // whose partitions exist
  Ns rev_ = 0;                     // of the cluster's row
  bool distributed_ = false;       // by Citus
  std::optional<std::pair<Ns, Ns>> resend_;
  std::future<absl::Status> sending_;
};

}  // namespace goodput
