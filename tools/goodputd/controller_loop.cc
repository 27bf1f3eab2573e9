#include "tools/goodputd/controller_loop.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "spank/clock.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/writer.h"
#include "sql/text.h"
#include "tools/goodputd/accounting_follower.h"
#include "tools/goodputd/housekeeping/damaged_database.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/queue_watch.h"
#include "tools/sources/slurm/backfiller.h"

namespace goodput {
namespace {

constexpr int kIngestIntervalMs = 1000;

// True: the database was damaged and has been replaced.
bool MendDatabase(const Config& config, Complaint& trouble) {
  const absl::StatusOr<std::string> damage = DamageOf(config.database);
  if (!damage.ok() || damage->empty()) return false;
  Log(Cat("database ", config.database, " is damaged: ", *damage));
  const absl::StatusOr<std::string> done = ReplaceDamaged(config.database, config.database_copy, absl::Now());
  trouble.Say(done.ok() ? "" : Message(done.status()));
  if (done.ok()) Log(*done);
  return done.ok();
}

}  // namespace

void RunControllerLoop(const Config& config, ActiveRole& role, int stop_fd, std::atomic<bool>& changed,
                       Liveness& alive) {
  Complaint database_trouble;
  Complaint accounting_trouble;
  Complaint damage_trouble;
  std::optional<Database> database;
  AccountingFollower accounting(SlurmAccounting(), config.cluster, absl::ToInt64Seconds(config.backfill));
  SpoolMemory memory;
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    const std::int64_t now_ns = kSystemClock.mono_ns();
    if (changed.exchange(false)) accounting.Expect(now_ns);
    // Another daemon has written since, so cached state is stale.
    if (alive.standby) {
      alive.claimed = false;
      database.reset();
      memory = SpoolMemory();
      continue;
    }
    if (database && !database->StillThere()) database.reset();
    if (alive.damaged.exchange(false)) {
      database.reset();
      if (MendDatabase(config, damage_trouble)) {
        // The spool must be read again, or what came after the copy.
        memory = SpoolMemory();
        accounting.StartOver();
      }
    }
    if (!database) {
      absl::StatusOr<Database> opened = Database::Open(config.database, Database::Mode::kReadWrite);
      database_trouble.Say(opened.ok() ? "" : Message(opened.status()));
      if (absl::IsDataLoss(opened.status())) alive.damaged = true;
      if (!opened.ok()) continue;
      // Checks the lease again, since this process may have been stopped meanwhile.
      if (!role.Look()) continue;
      const absl::Status claimed = ClaimDatabase(*opened, role.writer(), absl::ToUnixNanos(absl::Now()));
      database_trouble.Say(claimed.ok() ? "" : Message(claimed));
      if (!claimed.ok()) continue;
      database.emplace(*std::move(opened));
      alive.claimed = true;
    }
    IngestOptions options;
    options.cluster = config.cluster;
    options.remove_after_s = absl::ToInt64Seconds(config.keep_spool);
    options.most_bytes = config.spool_max / 2;
    options.memory = &memory;
    // Records of nodes on this host are copied to the shared spool like all others, and ingested from there.
    if (!config.shared_spool.empty()) options.only_folder = kControllerFolder;
    absl::StatusOr<IngestReport> report = IngestSpool(*database, config.spool, options);
    if (report.ok() && config.shared_spool.empty()) alive.ingested_ns = kSystemClock.mono_ns();
    if (absl::IsDataLoss(report.status())) alive.damaged = true;
    std::string trouble = report.ok() ? "" : Message(report.status());
    if (report.ok() && !report->problems.empty()) trouble = report->problems.front();
    database_trouble.Say(trouble);
    if (absl::IsAborted(report.status())) {
      alive.claimed = false;
      database.reset();
      continue;
    }
    const absl::Status accounted = accounting.Turn(*database, now_ns, absl::ToUnixSeconds(absl::Now()));
    accounting_trouble.Say(accounted.ok() ? "" : Message(accounted));
  } while (poll(&stop, 1, kIngestIntervalMs) == 0);
}

}  // namespace goodput
