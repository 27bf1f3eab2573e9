#include "tools/goodputd/controller_loop.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "spank/spool.h"
#include "sql/database.h"
#include "sql/ingest.h"
#include "sql/text.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/queue_watch.h"
#include "tools/slurm/backfill.h"
#include "tools/slurm/controller.h"

namespace goodput {
namespace {

// The controller spends at most 1/50 of its time on us.
constexpr int kCostFactor = 50;
constexpr absl::Duration kIngestInterval = absl::Seconds(1);
constexpr absl::Duration kAccountingInterval = absl::Seconds(60);
// slurmctld tells slurmdbd about a change within seconds.
constexpr absl::Duration kAccountingDelay = absl::Seconds(5);
constexpr absl::Duration kFirstBackfill = absl::Hours(24 * 7);

}  // namespace

void RunControllerLoop(const Config& config, int stop_fd) {
  Complaint spool_trouble;
  Complaint watch_trouble;
  Complaint database_trouble;
  Complaint accounting_trouble;
  Spool spool;
  std::unique_ptr<QueueWatch> watch;
  std::optional<Database> database;
  std::string cluster = config.cluster;
  absl::Time next_watch = absl::InfinitePast();
  absl::Time next_ingest = absl::InfinitePast();
  absl::Time next_accounting = absl::InfinitePast();
  absl::Time accounted = absl::Now() - kFirstBackfill;
  bool has_sacct = true;

  pollfd stop{stop_fd, POLLIN, 0};
  while (poll(&stop, 1, 100) == 0) {
    const absl::Time now = absl::Now();
    if (now >= next_watch) {
      if (!spool.is_open()) {
        Spool::Config spool_config;
        spool_config.root = config.spool;
        spool_config.node = kControllerFolder;
        spool_config.max_bytes = static_cast<std::uint64_t>(config.spool_max);
        spool_trouble.Say(spool.Open(spool_config));
      }
      if (spool.is_open() && watch == nullptr) {
        if (cluster.empty()) cluster = SlurmController().ClusterName();
        watch = std::make_unique<QueueWatch>(SlurmController(), spool, kSystemClock, cluster);
      }
      if (watch != nullptr) {
        absl::StatusOr<int> changes = watch->Poll();
        watch_trouble.Say(changes.ok() ? "" : Message(changes.status()));
        if (changes.ok() && *changes > 0) next_accounting = std::min(next_accounting, now + kAccountingDelay);
      }
      next_watch = now + std::max(config.queue_interval, kCostFactor * (absl::Now() - now));
    }
    if (now < next_ingest) continue;
    next_ingest = now + kIngestInterval;
    if (!database) {
      absl::StatusOr<Database> opened = Database::Open(config.database, Database::Mode::kReadWrite);
      database_trouble.Say(opened.ok() ? "" : Message(opened.status()));
      if (opened.ok()) database.emplace(*std::move(opened));
    }
    if (!database) continue;
    absl::StatusOr<IngestReport> report = IngestSpool(*database, config.spool, {cluster});
    std::string trouble = report.ok() ? "" : Message(report.status());
    if (report.ok() && !report->problems.empty()) trouble = report->problems.front();
    database_trouble.Say(trouble);
    if (has_sacct && now >= next_accounting) {
      const absl::Status stored =
          Backfill(*database, {{}, absl::ToUnixSeconds(accounted)}, absl::ToUnixSeconds(now));
      accounting_trouble.Say(stored.ok() ? "" : Message(stored));
      // A job that was running then may have ended since: look back over an hour again.
      if (stored.ok()) accounted = now - absl::Hours(1);
      if (absl::IsNotFound(stored)) has_sacct = false;
      next_accounting = now + kAccountingInterval;
    }
  }
}

}  // namespace goodput
