#include "sql/tables/purge.h"

#include <string>
#include <vector>

#include "sql/status_macros.h"
#include "sql/tables/evidence.h"
#include "sql/tables/record_blocks.h"
#include "sql/tables/source.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::int64_t kEventsAtOnce = 4096;
constexpr std::int64_t kPagesAtOnce = 1024;

struct OldJob {
  std::int64_t job_id = 0;  // on any cluster
  std::int64_t last_t_s = 0;
};

// Without any record of the scheduler, a node's first record is needed to know the job's owner.
absl::StatusOr<std::vector<OldJob>> OldJobs(Database& db, std::int64_t before_s) {
  Statement rows = db.Prepare(
      "SELECT seen.job_id, max(seen.last_t_s) AS last FROM job_seen AS seen"
      " LEFT JOIN summarized AS done ON done.job_id = seen.job_id WHERE seen.run = '' AND seen.job_id > 0"
      " GROUP BY seen.job_id HAVING last < ?1 AND (done.until_s IS NULL OR done.until_s < last)"
      " AND (EXISTS (SELECT 1 FROM accounting WHERE accounting.job_id = seen.job_id AND user <> '')"
      " OR EXISTS (SELECT 1 FROM event WHERE event.job_id = seen.job_id AND kind IN ('queue', 'attempt')))"
      " ORDER BY last");
  rows.Bind(1, before_s);
  std::vector<OldJob> jobs;
  while (rows.Step()) jobs.push_back({rows.Int(0), rows.Int(1)});
  if (!rows.status().ok()) return rows.status();
  return jobs;
}

// A part of a job's records, of one cluster.
struct SomeOfJob {
  std::string cluster;
  std::vector<OldEvent> events;
};

absl::StatusOr<SomeOfJob> SomeEvents(Database& db, const OldJob& job) {
  constexpr const char* kOfNodes =
      " FROM event CROSS JOIN source ON source.id = event.source_id AND source.node NOT LIKE '@%'"
      " WHERE event.job_id = ?1";
  SomeOfJob some;
  Statement any = db.Prepare(Cat("SELECT source.cluster", kOfNodes, " LIMIT 1"));
  any.Bind(1, job.job_id);
  if (!any.Step()) {
    if (!any.status().ok()) return any.status();
    return some;
  }
  some.cluster = any.Text(0);
  Statement rows = db.Prepare(Cat(
      "SELECT event.source_id, event.offset, event.t_ns, event.kind, event.record, source.node, source.file",
      kOfNodes, " AND source.cluster = ?2 ORDER BY event.t_ns, event.source_id, event.offset LIMIT ?3"));
  rows.Bind(1, job.job_id).Bind(2, some.cluster).Bind(3, kEventsAtOnce);
  while (rows.Step()) {
    some.events.push_back({{rows.Int(0), rows.Int(1), rows.Int(2), rows.Text(3), rows.Text(4)},
                           rows.Text(5),
                           std::string(BootOf(rows.Bytes(6)))});
  }
  if (!rows.status().ok()) return rows.status();
  return some;
}

// Returns the number of events summarized; 0: the job is done, which is stored.
absl::StatusOr<std::int64_t> SummarizeSome(Database& db, const OldJob& job, std::int64_t now_s) {
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ASSIGN_OR_RETURN(const SomeOfJob some, SomeEvents(db, job));
  absl::Status status = AddSummary(db, job.job_id, some.cluster, some.events, now_s);
  if (status.ok()) status = DeleteRows(db, some.events);
  absl::StatusOr<std::int64_t> of_block = 0;
  if (status.ok() && some.events.empty()) of_block = SummarizeBlock(db, job.job_id, now_s);
  if (!of_block.ok()) return of_block.status();
  if (status.ok() && some.events.empty() && *of_block == 0) {
    Statement done = db.Prepare(
        "INSERT INTO summarized (job_id, until_s) VALUES (?1, ?2)"
        " ON CONFLICT (job_id) DO UPDATE SET until_s = excluded.until_s");
    done.Bind(1, job.job_id).Bind(2, job.last_t_s);
    status = done.Run();
  }
  if (status.ok()) status = transaction.Commit();
  if (!status.ok()) return status;
  return static_cast<std::int64_t>(some.events.size()) + *of_block;
}

absl::StatusOr<std::int64_t> Pragma(Database& db, const char* sql) {
  Statement row = db.Prepare(sql);
  const std::int64_t value = row.Step() ? row.Int(0) : 0;
  if (!row.status().ok()) return row.status();
  return value;
}

// Does nothing if the database was made without auto_vacuum: empty pages are then reused and stay in the
// file.
absl::StatusOr<std::int64_t> GiveBackPages(Database& db, const std::function<bool()>& enough) {
  ASSIGN_OR_RETURN(const std::int64_t page, Pragma(db, "PRAGMA page_size"));
  std::int64_t freed = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const std::int64_t empty, Pragma(db, "PRAGMA freelist_count"));
    if (empty == 0 || enough()) break;
    const absl::Status status = db.Execute(Cat("PRAGMA incremental_vacuum(", kPagesAtOnce, ")"));
    if (!status.ok()) return status;
    ASSIGN_OR_RETURN(const std::int64_t left, Pragma(db, "PRAGMA freelist_count"));
    if (left >= empty) break;
    freed += (empty - left) * page;
  }
  // The file shrinks when the log is checkpointed.
  if (freed > 0) db.Execute("PRAGMA wal_checkpoint(PASSIVE)").IgnoreError();
  return freed;
}

}  // namespace

absl::StatusOr<PurgeReport> PurgeEvents(Database& db, std::int64_t before_s, std::int64_t now_s,
                                        const std::function<bool()>& enough) {
  ASSIGN_OR_RETURN(const std::vector<OldJob> jobs, OldJobs(db, before_s));
  PurgeReport report;
  for (const OldJob& job : jobs) {
    std::int64_t of_job = 0;
    for (;;) {
      if (enough()) break;
      ASSIGN_OR_RETURN(const std::int64_t taken, SummarizeSome(db, job, now_s));
      if (taken == 0) break;
      of_job += taken;
    }
    report.events += of_job;
    if (of_job > 0) ++report.jobs;
    if (enough()) break;
  }
  ASSIGN_OR_RETURN(const std::int64_t freed, GiveBackPages(db, enough));
  report.freed_bytes = freed;
  return report;
}

}  // namespace goodput
