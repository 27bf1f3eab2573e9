#include "sql/tables/chains.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Exactly the expressions of the indexes event_by_name and event_by_dependency; otherwise every event is
// read.
constexpr const char* kWatched = "event.job_id IS NOT NULL AND kind IN ('queue', 'attempt')";
constexpr const char* kUser = "CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END";
constexpr const char* kName = "CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END";
constexpr const char* kHasDependency = "instr(record, '\"dependency\":') > 0";

void AddAccounted(const std::vector<AccountingRow>& rows, JobOutline& outline, bool& known) {
  for (const AccountingRow& row : rows) {
    outline.submit_s = known ? std::min(outline.submit_s, row.submit_s) : row.submit_s;
    known = true;
    outline.user = row.user;
    outline.account = row.account;
    outline.partition = row.partition;
    outline.name = row.name;
    if (row.start_s) outline.start_s = std::min(outline.start_s.value_or(*row.start_s), *row.start_s);
  }
  // By submit time, so only the last attempt may be open.
  if (!rows.empty()) outline.end_s = rows.back().end_s;
}

absl::Status AddWatched(Database& db, JobOutline& outline, bool& known) {
  const bool accounted = known;
  Statement rows = db.Prepare(
      Cat("SELECT json_extract(record, '$.submit_s'), json_extract(record, '$.start_s'),"
          " json_extract(record, '$.end_s'), json_extract(record, '$.state'), ",
          kUser, ", json_extract(record, '$.account'), json_extract(record, '$.partition'), ", kName,
          ", json_extract(record, '$.dependency')"
          " FROM event JOIN source ON source.id = event.source_id WHERE ",
          kWatched, " AND event.job_id = ?1 AND source.cluster = ?2 AND json_valid(record) ORDER BY t_ns"));
  rows.Bind(1, outline.job.job_id).Bind(2, outline.job.cluster);
  while (rows.Step()) {
    const std::optional<std::int64_t> submit_s = rows.OptionalInt(0);
    if (!submit_s || *submit_s < outline.job.from_s || *submit_s >= outline.job.until_s) continue;
    if (!rows.IsNull(8)) outline.dependencies.push_back(rows.Text(8));
    if (accounted) continue;
    outline.submit_s = known ? std::min(outline.submit_s, *submit_s) : *submit_s;
    known = true;
    const std::string state = rows.Text(3);
    const std::optional<std::int64_t> start_s = rows.OptionalInt(1);
    // For a pending job, this is Slurm's estimate.
    if (start_s && state != "PENDING")
      outline.start_s = std::min(outline.start_s.value_or(*start_s), *start_s);
    const bool open = state == "PENDING" || state == "RUNNING" || state == "SUSPENDED";
    outline.end_s = open ? std::nullopt : rows.OptionalInt(2);
    outline.user = rows.Text(4);
    outline.account = rows.Text(5);
    outline.partition = rows.Text(6);
    outline.name = rows.Text(7);
  }
  return rows.status();
}

absl::StatusOr<std::vector<std::int64_t>> Ids(Statement& rows) {
  std::vector<std::int64_t> ids;
  while (rows.Step()) ids.push_back(rows.Int(0));
  if (!rows.status().ok()) return rows.status();
  return ids;
}

}  // namespace

absl::StatusOr<JobOutline> LoadOutline(Database& db, const JobKey& job) {
  JobOutline outline;
  outline.job = job;
  bool known = false;
  ASSIGN_OR_RETURN(const std::vector<AccountingRow> rows, LoadAccounting(db, job));
  AddAccounted(rows, outline, known);
  RETURN_IF_ERROR(AddWatched(db, outline, known));
  if (!known) return absl::NotFoundError("nobody says when it was submitted");
  absl::StatusOr<std::map<JobKey, std::string>> runs = RunNames(db, {job});
  if (!runs.ok()) return runs.status();
  outline.run = (*runs)[job];
  return outline;
}

absl::StatusOr<std::vector<std::int64_t>> JobsNamed(Database& db, const std::string& cluster,
                                                    const std::string& user, const std::string& name) {
  Statement rows = db.Prepare(
      Cat("SELECT job_id FROM accounting WHERE user = ?1 AND name = ?2 AND cluster = ?3"
          " UNION SELECT event.job_id FROM event CROSS JOIN source ON source.id = event.source_id WHERE ",
          kWatched, " AND ", kUser, " = ?1 AND ", kName, " = ?2 AND source.cluster = ?3 ORDER BY 1"));
  rows.Bind(1, user).Bind(2, name).Bind(3, cluster);
  return Ids(rows);
}

absl::StatusOr<std::vector<WaitingJob>> JobsThatWaited(Database& db, const std::string& cluster,
                                                       const std::string& user) {
  Statement rows = db.Prepare(
      Cat("SELECT DISTINCT event.job_id, json_extract(record, '$.dependency')"
          " FROM event CROSS JOIN source ON source.id = event.source_id WHERE ",
          kWatched, " AND ", kHasDependency, " AND ", kUser, " = ?1 AND source.cluster = ?2 ORDER BY 1"));
  rows.Bind(1, user).Bind(2, cluster);
  std::vector<WaitingJob> jobs;
  while (rows.Step()) jobs.push_back({rows.Int(0), rows.Text(1)});
  if (!rows.status().ok()) return rows.status();
  return jobs;
}

}  // namespace goodput
