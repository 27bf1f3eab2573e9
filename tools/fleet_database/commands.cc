// `sgoodput fleet`: sets up the fleet database, sends runs to it, and checks what it has.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/accounting/runs/only_cluster.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/base/progress.h"
#include "tools/fleet_database/fleet_session.h"
#include "tools/fleet_database/options.h"
#include "tools/sources/fleet_database/questions.h"
#include "tools/sources/fleet_database/sync.h"
#include "tools/sources/fleet_database/tables.h"

namespace goodput {
namespace {

// Passes over what is recent begin so often, or less often if they take long: at most 2 % of a processor, but
// within 90 s.
constexpr absl::Duration kShortestPause = absl::Seconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(75);
constexpr std::int64_t kPauseFactor = 50;
constexpr absl::Duration kFullPause = absl::Hours(1);
// After another writer was noticed: it may have sent from an older database.
constexpr absl::Duration kSoon = absl::Minutes(5);

// The cluster whose runs are sent: the option, else goodput.conf's, else the only one in the database.
absl::StatusOr<std::string> ClusterOf(const FleetSyncOptions& options, const Config& config,
                                      const std::string& path) {
  if (!options.cluster.empty()) return options.cluster;
  if (!config.cluster.empty()) return config.cluster;
  return OnlyCluster(path);
}

absl::StatusOr<FleetSyncSettings> SettingsOf(const FleetSyncOptions& options) {
  ASSIGN_OR_RETURN(const Config config, FleetConfig(options.common));
  FleetSyncSettings settings;
  ASSIGN_OR_RETURN(settings.fleet_url, FleetUrl(options.common));
  settings.database = options.db.empty() ? config.database : options.db;
  ASSIGN_OR_RETURN(settings.cluster, ClusterOf(options, config, settings.database));
  settings.cluster_url = config.cluster_url;
  settings.peaks = config.peaks;
  settings.now = [] { return absl::GetCurrentTimeNanos(); };
  return settings;
}

void Say(const std::string& line) {
  std::fputs(Wrap(Printable(line), "").c_str(), stdout);
  std::fflush(stdout);
}

void Warn(const absl::Status& status) {
  std::fprintf(stderr, "sgoodput: %s\n", Printable(Message(status)).c_str());
}

absl::StatusOr<FleetPassReport> PassWithProgress(FleetSync& sync, FleetPass pass) {
  Progress progress;
  return sync.Pass(
      pass, [&](std::int64_t done, std::int64_t all) { progress.Say(Cat(done, " of ", all, " runs")); });
}

void SayPass(const FleetPassReport& report, const std::string& cluster) {
  Say(Cat("Cluster ", cluster, ": ", Counted(report.runs, "run"), ", ", report.running, " running; sent ",
          report.sent, " (", Counted(report.rows, "row"), "), removed ", report.removed));
  if (report.days > 0)
    Say(Cat(Counted(report.days, "day"), " of nodes, of which ", report.days_sent, " were new or changed"));
  if (report.elsewhere > 0)
    Say(Cat(Counted(report.elsewhere, "job"), " of other clusters in this database: not sent"));
  if (report.refused > 0)
    Say(Cat(Counted(report.refused, "run"), " cannot be sent; the first: ", report.why_refused));
}

// Another process may be sending for the same cluster: one more try each time.
absl::StatusOr<FleetPassReport> FullPass(FleetSync& sync, FleetPass pass) {
  constexpr int kMostTries = 5;
  absl::StatusOr<FleetPassReport> report = PassWithProgress(sync, pass);
  for (int i = 1; absl::IsAborted(report.status()) && i < kMostTries; ++i)
    report = PassWithProgress(sync, pass);
  return report;
}

// Sends until it is killed, which it may be at any time.
int SyncForever(FleetSync& sync, const std::string& cluster) {
  absl::Time full = absl::InfinitePast();
  std::string last_problem;
  for (bool begun = false; true; begun = true) {
    const absl::Time began = absl::Now();
    const bool is_full = began >= full;
    const absl::StatusOr<FleetPassReport> report = sync.Pass(is_full ? FleetPass::kFull : FleetPass::kRecent);
    const absl::Duration took = absl::Now() - began;
    if (report.ok()) {
      if (is_full) full = absl::Now() + std::max(kFullPause, kPauseFactor * took);
      // Running jobs are sent by every pass: that is not worth a line.
      if (!begun || !last_problem.empty() || is_full) SayPass(*report, cluster);
      last_problem.clear();
    } else {
      if (absl::IsAborted(report.status())) full = std::min(full, absl::Now() + kSoon);
      // A server that is down for a day is one line.
      if (Message(report.status()) != last_problem) Warn(report.status());
      last_problem = Message(report.status());
    }
    absl::SleepFor(std::min(std::max(kPauseFactor * took, kShortestPause), kLongestPause));
  }
}

absl::Status SetTimes(const FleetSyncOptions& options, FleetSync& sync) {
  Ns begin = std::numeric_limits<Ns>::min();
  Ns end = std::numeric_limits<Ns>::max();
  const absl::Time now = absl::Now();
  if (!options.start.empty()) {
    const absl::StatusOr<Ns> parsed = ParseTimeOption(options.start, now);
    if (!parsed.ok()) return Annotate(parsed.status(), "-S");
    begin = *parsed;
  }
  if (!options.end.empty()) {
    const absl::StatusOr<Ns> parsed = ParseTimeOption(options.end, now);
    if (!parsed.ok()) return Annotate(parsed.status(), "-E");
    end = *parsed;
  }
  if (begin > end) return absl::InvalidArgumentError("-S is after -E");
  sync.Resend(begin, end);
  return absl::OkStatus();
}

absl::StatusOr<FleetSetup> SetUp(const FleetCommon& options) {
  ASSIGN_OR_RETURN(const std::string url, FleetUrl(options));
  ASSIGN_OR_RETURN(FleetConnection connection, FleetConnection::Open(url));
  absl::StatusOr<FleetSetup> setup = SetUpFleet(connection);
  if (absl::IsPermissionDenied(setup.status()))
    return absl::PermissionDeniedError(Cat(
        Message(setup.status()), "; connect as a role that may create schemas in this database, and roles"));
  return setup;
}

std::string MetricsOf(const std::vector<FleetClusterStatus>& clusters, Ns now) {
  MetricText text;
  text.Family("goodput_fleet_lag_seconds", "gauge",
              "Age of the newest rows of a cluster in the fleet database");
  for (const FleetClusterStatus& of : clusters) {
    if (of.as_of) text.Gauge({{"cluster", of.cluster}}, Seconds(now - *of.as_of));
  }
  text.Family("goodput_fleet_runs", "gauge", "Runs of a cluster in the fleet database");
  for (const FleetClusterStatus& of : clusters)
    text.Gauge({{"cluster", of.cluster}}, static_cast<double>(of.runs));
  text.Family("goodput_fleet_running_runs", "gauge",
              "Runs of a cluster in the fleet database that still run");
  for (const FleetClusterStatus& of : clusters)
    text.Gauge({{"cluster", of.cluster}}, static_cast<double>(of.running));
  text.Family("goodput_fleet_refused_runs", "gauge", "Runs that a cluster cannot send to the fleet database");
  for (const FleetClusterStatus& of : clusters)
    text.Gauge({{"cluster", of.cluster}}, static_cast<double>(of.refused));
  return std::move(text).Finish();
}

}  // namespace

int RunFleetInit(const FleetCommon& options) {
  const absl::StatusOr<FleetSetup> setup = SetUp(options);
  if (!setup.ok()) return FailFleet(setup.status());
  Say(Cat(setup->created ? "Created the tables" : "The tables were there and are complete",
          setup->distributed ? ", distributed by Citus." : "; this server does not offer Citus."));
  Say("For each cluster: sgoodput fleet add CLUSTER. Grant goodput_reader or goodput_finance to those who "
      "ask.");
  return kFleetAnswered;
}

int RunFleetMigrate(const FleetCommon& options) {
  const absl::StatusOr<FleetSetup> setup = SetUp(options);
  if (!setup.ok()) return FailFleet(setup.status());
  Say(setup->created ? "There were no tables; created them." : "The tables are those of this release.");
  return kFleetAnswered;
}

int RunFleetAdd(const FleetAddOptions& options) {
  absl::StatusOr<FleetConnection> connection = OpenFleet(options.common);
  if (!connection.ok()) return FailFleet(connection.status());
  const std::string role = options.role.empty() ? FleetWriterRole(options.cluster) : options.role;
  const absl::Status status = AddFleetWriter(*connection, options.cluster, role);
  if (!status.ok()) return FailFleet(status);
  Say(Cat("The role ", role, " writes the rows of cluster ", options.cluster,
          ". Set its password (\\password in psql) or map a certificate to it (pg_ident.conf)."));
  return kFleetAnswered;
}

int RunFleetStatus(const FleetCommon& options, bool metrics) {
  absl::StatusOr<FleetConnection> connection = OpenFleet(options);
  if (!connection.ok()) return FailFleet(connection.status());
  const absl::StatusOr<std::vector<FleetClusterStatus>> clusters = ClustersOfFleet(*connection);
  if (!clusters.ok()) return FailFleet(clusters.status());
  if (metrics) {
    std::fputs(MetricsOf(*clusters, absl::GetCurrentTimeNanos()).c_str(), stdout);
    return kFleetAnswered;
  }
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"Cluster", Table::Align::kLeft, 20},
               {"Runs", kRight},
               {"Running", kRight},
               {"Refused", kRight},
               {"Complete up to"},
               {"Lag", kRight},
               {"Release"}});
  const Ns now = absl::GetCurrentTimeNanos();
  bool bad = false;
  for (const FleetClusterStatus& of : *clusters) {
    const std::optional<Ns> lag =
        of.as_of ? std::optional<Ns>(std::max<Ns>(0, now - *of.as_of)) : std::nullopt;
    bad = bad || !lag || *lag > kStale || of.refused > 0;
    table.Add({Printable(of.cluster), Cat(of.runs), Cat(of.running), Cat(of.refused), FormatTime(of.as_of),
               FormatDuration(lag), Printable(of.release)});
  }
  std::fputs(table.Render(true).c_str(), stdout);
  for (const FleetClusterStatus& of : *clusters) {
    if (of.refused > 0)
      Say(Cat(of.cluster, " cannot send ", Counted(of.refused, "run"), "; the first: ", of.problem));
  }
  return bad || clusters->empty() ? kFleetNothingMatched : kFleetAnswered;
}

int RunFleetSync(const FleetSyncOptions& options) {
  absl::StatusOr<FleetSyncSettings> settings = SettingsOf(options);
  if (!settings.ok()) return FailFleet(settings.status());
  const std::string cluster = settings->cluster;
  FleetSync sync(*std::move(settings));
  if (!options.once) return SyncForever(sync, cluster);
  const absl::StatusOr<FleetPassReport> report = FullPass(sync, FleetPass::kFull);
  if (!report.ok()) return FailFleet(report.status());
  SayPass(*report, cluster);
  return report->refused > 0 ? kFleetNothingMatched : kFleetAnswered;
}

int RunFleetResend(const FleetSyncOptions& options) {
  absl::StatusOr<FleetSyncSettings> settings = SettingsOf(options);
  if (!settings.ok()) return FailFleet(settings.status());
  const std::string cluster = settings->cluster;
  FleetSync sync(*std::move(settings));
  if (const absl::Status status = SetTimes(options, sync); !status.ok()) return FailFleet(status);
  const absl::StatusOr<FleetPassReport> report = FullPass(sync, FleetPass::kFull);
  if (!report.ok()) return FailFleet(report.status());
  SayPass(*report, cluster);
  return kFleetAnswered;
}

int RunFleetVerify(const FleetSyncOptions& options) {
  absl::StatusOr<FleetSyncSettings> settings = SettingsOf(options);
  if (!settings.ok()) return FailFleet(settings.status());
  const std::string cluster = settings->cluster;
  FleetSync sync(*std::move(settings));
  const absl::StatusOr<FleetPassReport> report = FullPass(sync, FleetPass::kVerify);
  if (!report.ok()) return FailFleet(report.status());
  const std::int64_t differ = report->sent - report->missing;
  Say(Cat("Cluster ", cluster, ": ", Counted(report->runs, "run"), ", ", report->running,
          " running; the fleet database lacks ", report->missing, ", has ", differ, " with other rows, and ",
          report->removed, " that are now part of others"));
  if (report->refused > 0)
    Say(Cat(Counted(report->refused, "run"), " cannot be sent; the first: ", report->why_refused));
  Say(Cat(Counted(report->days, "day"), " of nodes; the fleet database lacks ", report->days_missing,
          " of them, and has ", report->days_sent - report->days_missing, " with other rows"));
  if (report->sent + report->removed + report->days_sent == 0) return kFleetAnswered;
  Say("sgoodput fleet sync --once sends the difference.");
  return kFleetNothingMatched;
}

}  // namespace goodput
