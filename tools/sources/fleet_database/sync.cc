#include "tools/sources/fleet_database/sync.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "config.h"
#include "sql/status_macros.h"
#include "sql/tables/owners.h"
#include "sql/text.h"
#include "tools/accounting/fleet/load_fleet.h"
#include "tools/accounting/fleet/load_node_days.h"
#include "tools/accounting/report/report.h"
#include "tools/accounting/runs/run_groups.h"
#include "tools/base/format.h"
#include "tools/sources/fleet_database/tables.h"

namespace goodput {
namespace {

// A batch ends with the first of these: kEnoughRows if the server waits for it, kMostRows, or kLongestBatch.
// The server adds the days of a batch to their sums at once, so that fewer batches cost less.
constexpr std::size_t kEnoughRows = 20'000;
constexpr std::size_t kMostRows = 100'000;
constexpr Ns kLongestBatch = 2 * kSecond;
// Records of a run arrive late by less than this, or the next full pass finds them.
constexpr std::int64_t kRecentS = 7'200;

constexpr const char* kLockCluster = "SELECT rev FROM cluster WHERE cluster = $1 FOR UPDATE";

bool LongOver(const std::vector<JobKey>& group, Ns now) {
  return std::all_of(group.begin(), group.end(),
                     [&](const JobKey& job) { return job.over_s < now / kSecond - kRecentS; });
}

std::vector<std::string> And(std::vector<std::string> columns, std::vector<std::string> more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

const std::vector<std::string>& SentUnitColumns() {
  static const std::vector<std::string> columns = And(UnitColumns(), {"digest", "rev"});
  return columns;
}

const std::vector<std::string>& SentDayColumns() {
  static const std::vector<std::string> columns = And(ClusterDayColumns(), {"rev"});
  return columns;
}

std::string DateOfDay(std::int64_t day) {
  return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + day);
}

absl::Status AnotherWriter(const std::string& cluster) {
  return absl::AbortedError(Cat("another process sent rows of cluster ", Printable(cluster)));
}

}  // namespace

// One pass over the runs of the cluster's database.
struct FleetSync::Looking {
  FleetPass pass;
  Ns now;
  Database& db;
  ClusterReader cluster;
  std::map<std::string, std::string> features;
  FleetPassReport report;
  Batch batch;
  std::set<UnitKey> present;  // that the cluster's database has
  NodeHolds holds;            // of these

  Looking(FleetPass which, Ns at, Database& of) : pass(which), now(at), db(of), cluster(of) {}
};

absl::Status FleetSync::Connect() {
  if (connection_) return absl::OkStatus();
  ASSIGN_OR_RETURN(FleetConnection connection, FleetConnection::Open(settings_.fleet_url));
  RETURN_IF_ERROR(CheckFleetTables(connection, false));
  ASSIGN_OR_RETURN(distributed_, AreDistributed(connection));
  connection_.emplace(std::move(connection));
  months_.clear();
  absl::Status status =
      connection_
          ->Query("INSERT INTO cluster (cluster) VALUES ($1) ON CONFLICT DO NOTHING", {settings_.cluster})
          .status();
  if (absl::IsPermissionDenied(status)) {
    status = absl::PermissionDeniedError(
        Cat(Message(status), "; this role may not write the rows of cluster ", Printable(settings_.cluster),
            ": the owner runs sgoodput fleet add ", Printable(settings_.cluster)));
  }
  if (status.ok()) status = LoadSent();
  const auto temporary = [&](const char* name, const std::vector<std::string>& columns, const char* of) {
    if (!status.ok()) return;
    status = connection_->Execute(Cat("CREATE TEMPORARY TABLE ", name, " ON COMMIT DELETE ROWS AS SELECT ",
                                      absl::StrJoin(columns, ", "), " FROM goodput.", of, " WITH NO DATA"));
  };
  temporary("new_unit", SentUnitColumns(), "unit");
  temporary("new_attempt_day", AttemptDayColumns(), "attempt_day");
  temporary("new_interruption", InterruptionColumns(), "interruption");
  temporary("new_attempt_nodes", AttemptNodesColumns(), "attempt_nodes");
  temporary("new_cluster_day", SentDayColumns(), "cluster_day");
  temporary("new_node_day", NodeDayColumns(), "node_day");
  if (!status.ok()) connection_.reset();
  return status;
}

// From one snapshot: a batch of another process may be committed in between.
absl::Status FleetSync::LoadSent() {
  sent_.clear();
  RETURN_IF_ERROR(connection_->Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  ASSIGN_OR_RETURN(const FleetResult row,
                   connection_->Query("SELECT rev FROM cluster WHERE cluster = $1", {settings_.cluster}));
  if (row.rows() != 1)
    return absl::PermissionDeniedError(Cat(connection_->name(), ": this role does not see cluster ",
                                           Printable(settings_.cluster),
                                           "; the owner runs sgoodput fleet add"));
  rev_ = row.Int(0, 0);
  ASSIGN_OR_RETURN(
      const FleetResult units,
      connection_->Query("SELECT unit, digest FROM unit WHERE cluster = $1", {settings_.cluster}));
  for (int i = 0; i < units.rows(); ++i) {
    ASSIGN_OR_RETURN(const UnitKey key, ParseUnitName(units.Text(i, 0)));
    sent_.emplace(key, units.Text(i, 1));
  }
  sent_days_.clear();
  ASSIGN_OR_RETURN(
      const FleetResult days,
      connection_->Query("SELECT day - DATE '1970-01-01', digest FROM cluster_day WHERE cluster = $1",
                         {settings_.cluster}));
  for (int i = 0; i < days.rows(); ++i) sent_days_.emplace(days.Int(i, 0), days.Text(i, 1));
  return connection_->Execute("COMMIT");
}

absl::StatusOr<FleetPassReport> FleetSync::Pass(FleetPass pass,
                                                const std::function<void(std::int64_t, std::int64_t)>& said) {
  RETURN_IF_ERROR(Connect());
  // Opened for each pass: it may have been upgraded, moved or replaced.
  ASSIGN_OR_RETURN(Database db, Database::Open(settings_.database, Database::Mode::kReadOnly));
  Looking looking(pass, settings_.now(), db);
  absl::Status status;
  {
    const Snapshot snapshot(db);
    status = snapshot.status();
    if (status.ok()) status = LookAtAll(looking, said);
  }
  if (status.ok()) status = Flush(looking);
  absl::Status settled = Settle();
  if (status.ok()) status = std::move(settled);
  if (status.ok() && pass != FleetPass::kVerify) status = SayHeard(looking.report, looking.now);
  if (!status.ok()) {
    connection_.reset();
    return status;
  }
  return looking.report;
}

absl::Status FleetSync::LookAtAll(Looking& looking,
                                  const std::function<void(std::int64_t, std::int64_t)>& said) {
  ASSIGN_OR_RETURN(std::vector<JobKey> jobs, KnownJobs(looking.db));
  // Imported runs name no cluster: they belong to the one whose database has them.
  const auto others = std::remove_if(jobs.begin(), jobs.end(), [&](const JobKey& job) {
    return !job.cluster.empty() && job.cluster != settings_.cluster;
  });
  looking.report.elsewhere = std::distance(others, jobs.end());
  jobs.erase(others, jobs.end());
  const absl::StatusOr<std::map<JobKey, std::string>> names = RunNames(looking.db, jobs);
  if (!names.ok()) return names.status();
  std::vector<JobKey> named;
  for (const auto& [job, name] : *names) named.push_back(job);
  const absl::StatusOr<std::map<JobKey, Owner>> owners = OwnersOf(looking.db, named);
  if (!owners.ok()) return owners.status();
  absl::StatusOr<std::map<std::string, std::string>> features =
      LoadNodeFeatures(looking.db, settings_.cluster);
  if (!features.ok()) return features.status();
  looking.features = *std::move(features);
  const std::vector<std::vector<JobKey>> groups = GroupByRun(jobs, *names, *owners);
  std::int64_t done = 0;
  for (const std::vector<JobKey>& group : groups) {
    if (said) said(done, static_cast<std::int64_t>(groups.size()));
    ++done;
    const bool skip =
        looking.pass == FleetPass::kRecent && LongOver(group, looking.now) && IsSent(group.front());
    if (skip) continue;
    RETURN_IF_ERROR(LookAt(looking, group));
  }
  return looking.pass == FleetPass::kRecent ? absl::OkStatus() : LookAtNodes(looking);
}

// Month by month: years of many nodes are many rows.
absl::Status FleetSync::LookAtNodes(Looking& looking) {
  ASSIGN_OR_RETURN(const NodeDaysTime time,
                   TimeOfNodeDays(looking.db, settings_.cluster, looking.holds, looking.now));
  Ns next = 0;
  for (Ns at = time.begin; at < time.end; at = next) {
    next = std::min(time.end, UtcDay(at + 31 * kUtcDay) * kUtcDay);
    const absl::StatusOr<std::vector<NodeDay>> days =
        LoadNodeDays(looking.db, settings_.cluster, looking.holds, time, at, next);
    if (!days.ok()) return days.status();
    for (NodeDayRows& rows : RowsOfNodeDays(*days, settings_.cluster)) {
      const bool final = rows.day < UtcDay(time.end);
      RETURN_IF_ERROR(TakeDay(looking, std::move(rows), final));
    }
  }
  return absl::OkStatus();
}

absl::Status FleetSync::TakeDay(Looking& looking, NodeDayRows rows, bool final) {
  ++looking.report.days;
  const auto known = sent_days_.find(rows.day);
  if (known != sent_days_.end()) {
    const Ns begin = rows.day * kUtcDay;
    const bool resend = resend_ && begin < resend_->second && begin + kUtcDay > resend_->first;
    if (!resend && known->second == rows.digest) return absl::OkStatus();
    // A database restored from an older copy knows nothing of a day that the fleet may know.
    if (!rows.known) return absl::OkStatus();
    if (looking.pass == FleetPass::kVerify && !final) return absl::OkStatus();
  }
  ++looking.report.days_sent;
  if (known == sent_days_.end()) ++looking.report.days_missing;
  if (looking.pass == FleetPass::kVerify) return absl::OkStatus();
  if (looking.batch.empty()) looking.batch.since = settings_.now();
  looking.batch.rows += rows.size();
  looking.report.rows += static_cast<std::int64_t>(rows.size());
  looking.batch.days.push_back(std::move(rows));
  return IsFull(looking.batch) ? Flush(looking) : absl::OkStatus();
}

bool FleetSync::IsFull(const Batch& batch) const {
  const std::size_t size = batch.rows + batch.gone.size();
  const bool waits =
      !sending_.valid() || sending_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return size >= kMostRows || (size >= kEnoughRows && waits);
}

bool FleetSync::IsSent(const JobKey& job) const {
  const auto unit = sent_.lower_bound({job.job_id, job.from_s});
  return unit != sent_.end() && unit->first.job_id == job.job_id && unit->first.submit_s < job.until_s;
}

absl::Status FleetSync::LookAt(Looking& looking, const std::vector<JobKey>& group) {
  const absl::StatusOr<std::vector<Report>> reports =
      MakeReports(looking.db, looking.cluster, group, {{}, looking.now, settings_.peaks});
  // Too little is recorded of it so far.
  if (absl::IsNotFound(reports.status())) return absl::OkStatus();
  if (!reports.ok()) return reports.status();
  for (const Report& report : *reports) {
    const std::vector<UnitKey> jobs = JobsOfReport(report);
    // Every component of a heterogeneous job leads to the whole job.
    if (jobs.empty() || !looking.present.insert(jobs.front()).second) continue;
    ++looking.report.runs;
    looking.report.running += report.timeline.running ? 1 : 0;
    absl::StatusOr<FleetRows> rows = RowsOfRun(report, jobs.front(), settings_.cluster, looking.features);
    if (!rows.ok()) {
      ++looking.report.refused;
      if (looking.report.why_refused.empty())
        looking.report.why_refused = Cat("job ", jobs.front().job_id, ": ", Message(rows.status()));
      continue;
    }
    looking.holds.Add(report.timeline);
    const bool resend =
        resend_ && report.timeline.begin < resend_->second && report.timeline.end >= resend_->first;
    RETURN_IF_ERROR(Take(looking, *std::move(rows), resend));
  }
  for (const Report& report : *reports) FindGone(looking, group, report);
  const Batch& batch = looking.batch;
  const bool some = batch.rows + batch.gone.size() > 0;
  const bool old = some && settings_.now() - batch.since > kLongestBatch;
  return old || IsFull(batch) ? Flush(looking) : absl::OkStatus();
}

// The fleet has a run that began with a job of this run, during this run: it became a part of it, or its
// submit was corrected. It goes with the same batch. A run that began before or after is another use of the
// id, and one whose job the cluster's database does not know was lost there: the fleet keeps them.
void FleetSync::FindGone(Looking& looking, const std::vector<JobKey>& group, const Report& report) {
  for (const UnitKey& job : JobsOfReport(report)) {
    std::int64_t end_s = report.timeline.end / kSecond;
    // The next use of the id may begin in the second in which this one ended.
    auto known = std::lower_bound(group.begin(), group.end(), job.job_id,
                                  [](const JobKey& a, std::int64_t id) { return a.job_id < id; });
    for (; known != group.end() && known->job_id == job.job_id; ++known) {
      if (known->until_s > job.submit_s) end_s = std::min(end_s, known->until_s - 1);
    }
    for (auto unit = sent_.lower_bound(job);
         unit != sent_.end() && unit->first.job_id == job.job_id && unit->first.submit_s <= end_s; ++unit) {
      if (looking.present.count(unit->first) == 0) looking.batch.gone.insert(unit->first);
    }
  }
}

absl::Status FleetSync::Take(Looking& looking, FleetRows rows, bool resend) {
  const auto known = sent_.find(rows.key);
  if (known != sent_.end() && known->second == rows.digest && !resend) return absl::OkStatus();
  // A run that continues always differs.
  if (looking.pass == FleetPass::kVerify && !rows.final && known != sent_.end()) return absl::OkStatus();
  ++looking.report.sent;
  if (known == sent_.end()) ++looking.report.missing;
  if (looking.pass == FleetPass::kVerify) return absl::OkStatus();
  if (looking.batch.empty()) looking.batch.since = settings_.now();
  looking.batch.rows += rows.size();
  looking.report.rows += static_cast<std::int64_t>(rows.size());
  looking.batch.units.push_back(std::move(rows));
  return absl::OkStatus();
}

// Makes the next batch while the server takes this one.
absl::Status FleetSync::Flush(Looking& looking) {
  Batch batch = std::exchange(looking.batch, {});
  looking.report.removed += static_cast<std::int64_t>(batch.gone.size());
  if (looking.pass == FleetPass::kVerify || batch.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(Settle());
  Change change;
  change.before = rev_;
  change.rev = std::max<Ns>(settings_.now(), rev_ + 1);
  for (const UnitKey& unit : batch.gone) change.replaced.push_back(UnitName(unit));
  for (const FleetRows& unit : batch.units) {
    if (sent_.count(unit.key) > 0) change.replaced.push_back(unit.unit);
  }
  for (const NodeDayRows& rows : batch.days) {
    if (sent_days_.count(rows.day) > 0) change.replaced_days.push_back(DateOfDay(rows.day));
  }
  // If it fails, they are read again.
  rev_ = change.rev;
  for (const UnitKey& unit : batch.gone) sent_.erase(unit);
  for (const FleetRows& unit : batch.units) sent_[unit.key] = unit.digest;
  for (const NodeDayRows& rows : batch.days) sent_days_[rows.day] = rows.digest;
  change.days = std::move(batch.days);
  change.units = std::move(batch.units);
  sending_ = std::async([this, change = std::move(change)] { return Send(change); });
  return absl::OkStatus();
}

absl::Status FleetSync::Settle() {
  return sending_.valid() ? sending_.get() : absl::OkStatus();
}

absl::Status FleetSync::Send(const Change& change) {
  RETURN_IF_ERROR(CreateMonths(change));
  RETURN_IF_ERROR(connection_->Execute("BEGIN"));
  ASSIGN_OR_RETURN(const FleetResult locked, connection_->Query(kLockCluster, {settings_.cluster}));
  if (locked.rows() != 1 || locked.Int(0, 0) != change.before) return AnotherWriter(settings_.cluster);
  RETURN_IF_ERROR(Write(change));
  return connection_->Execute("COMMIT");
}

absl::Status FleetSync::Write(const Change& change) {
  std::vector<std::string> units;
  std::vector<std::string> days;
  std::vector<std::string> interruptions;
  std::vector<std::string> nodes;
  for (const FleetRows& unit : change.units) {
    units.push_back(Cat(unit.unit_line, "\t", unit.digest, "\t", change.rev));
    days.insert(days.end(), unit.days.begin(), unit.days.end());
    interruptions.insert(interruptions.end(), unit.interruptions.begin(), unit.interruptions.end());
    nodes.insert(nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  std::vector<std::string> cluster_days;
  std::vector<std::string> node_days;
  for (const NodeDayRows& rows : change.days) {
    cluster_days.push_back(Cat(rows.day_line, "\t", change.rev));
    node_days.insert(node_days.end(), rows.lines.begin(), rows.lines.end());
  }
  RETURN_IF_ERROR(DeleteReplaced(change));
  RETURN_IF_ERROR(Insert("unit", SentUnitColumns(), units));
  RETURN_IF_ERROR(Insert("attempt_day", AttemptDayColumns(), days));
  RETURN_IF_ERROR(Insert("interruption", InterruptionColumns(), interruptions));
  RETURN_IF_ERROR(Insert("attempt_nodes", AttemptNodesColumns(), nodes));
  RETURN_IF_ERROR(Insert("cluster_day", SentDayColumns(), cluster_days));
  RETURN_IF_ERROR(Insert("node_day", NodeDayColumns(), node_days));
  return connection_
      ->Query("UPDATE cluster SET rev = $2 WHERE cluster = $1",
              {settings_.cluster, std::to_string(change.rev)})
      .status();
}

absl::Status FleetSync::DeleteReplaced(const Change& change) {
  const auto remove = [&](const char* table, const char* which,
                          const std::vector<std::string>& of) -> absl::Status {
    if (of.empty()) return absl::OkStatus();
    return connection_
        ->Query(Cat("DELETE FROM ", table, " WHERE cluster = $1 AND ", which),
                {settings_.cluster, FleetArray(of)})
        .status();
  };
  for (const char* table : {"attempt_day", "attempt_nodes", "interruption", "unit"})
    RETURN_IF_ERROR(remove(table, "unit = ANY($2::text[])", change.replaced));
  for (const char* table : {"node_day", "cluster_day"})
    RETURN_IF_ERROR(remove(table, "day = ANY($2::date[])", change.replaced_days));
  return absl::OkStatus();
}

absl::Status FleetSync::Insert(const std::string& table, const std::vector<std::string>& columns,
                               const std::vector<std::string>& lines) {
  if (lines.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(connection_->CopyIn(Cat("pg_temp.new_", table), columns, lines));
  const std::string all = absl::StrJoin(columns, ", ");
  if (!distributed_)
    return connection_->Execute(
        Cat("INSERT INTO ", table, " (", all, ") SELECT ", all, " FROM pg_temp.new_", table));
  return connection_->Execute(
      Cat("DO $fleet$ DECLARE new record; BEGIN FOR new IN SELECT * FROM pg_temp.new_", table,
          " LOOP INSERT INTO ", table, " (", all, ") VALUES (new.", absl::StrJoin(columns, ", new."),
          "); END LOOP; END $fleet$"));
}

// In a transaction of their own: they lock the whole table.
absl::Status FleetSync::CreateMonths(const Change& change) {
  for (const FleetRows& unit : change.units) {
    for (const std::int64_t month : unit.months) {
      if (months_.count(month) > 0) continue;
      RETURN_IF_ERROR(connection_->Query("SELECT fleet_month($1::date)", {DateOfDay(month)}).status());
      months_.insert(month);
    }
  }
  return absl::OkStatus();
}

absl::Status FleetSync::SayHeard(const FleetPassReport& report, Ns as_of) {
  ASSIGN_OR_RETURN(
      const FleetResult result,
      connection_->Query("UPDATE cluster SET as_of_ns = $2, heard_ns = $3, url = $4, release = $5,"
                         " refused = $6, problem = $7 WHERE cluster = $1 AND rev = $8",
                         {settings_.cluster, std::to_string(as_of), std::to_string(settings_.now()),
                          FleetText(settings_.cluster_url), PACKAGE_VERSION, std::to_string(report.refused),
                          FleetText(report.why_refused), std::to_string(rev_)}));
  return result.affected() == 1 ? absl::OkStatus() : AnotherWriter(settings_.cluster);
}

}  // namespace goodput
