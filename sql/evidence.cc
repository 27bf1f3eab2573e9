#include "sql/evidence.h"

#include "sql/step_block.h"
#include "sql/text.h"

namespace goodput {
namespace {

absl::StatusOr<std::vector<EventRow>> ReadEvents(Statement statement) {
  std::vector<EventRow> rows;
  while (statement.Step()) {
    rows.push_back(
        {statement.Int(0), statement.Int(1), statement.Int(2), statement.Text(3), statement.Text(4)});
  }
  if (!statement.status().ok()) return statement.status();
  return rows;
}

absl::StatusOr<std::vector<std::int64_t>> ReadIds(Statement statement) {
  std::vector<std::int64_t> ids;
  while (statement.Step()) ids.push_back(statement.Int(0));
  if (!statement.status().ok()) return statement.status();
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<SourceRow>> LoadSources(Database& db) {
  Statement statement =
      db.Prepare("SELECT id, cluster, node, file, offset, records, bad FROM source ORDER BY id");
  std::vector<SourceRow> rows;
  while (statement.Step()) {
    rows.push_back({statement.Int(0), statement.Text(1), statement.Text(2), statement.Text(3),
                    statement.Int(4), statement.Int(5), statement.Int(6)});
  }
  if (!statement.status().ok()) return statement.status();
  return rows;
}

absl::StatusOr<std::vector<EventRow>> LoadEvents(Database& db, std::int64_t job_id) {
  Statement statement = db.Prepare(
      "SELECT source_id, offset, t_ns, kind, record FROM event WHERE job_id = ?1 ORDER BY t_ns, source_id, "
      "offset");
  statement.Bind(1, job_id);
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<EventRow>> LoadJoblessEvents(Database& db, const std::string& kind,
                                                        std::int64_t from_ns, std::int64_t to_ns) {
  Statement statement = db.Prepare(
      "SELECT source_id, offset, t_ns, kind, record FROM event WHERE job_id IS NULL AND kind = ?1"
      " AND t_ns BETWEEN ?2 AND ?3 ORDER BY t_ns, source_id, offset");
  statement.Bind(1, kind).Bind(2, from_ns).Bind(3, to_ns);
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<EventRow>> LoadWatchedAttempts(Database& db, std::int64_t from_ns,
                                                          std::int64_t to_ns) {
  Statement statement = db.Prepare(
      "SELECT source_id, offset, t_ns, kind, record FROM event"
      " WHERE source_id IN (SELECT id FROM source WHERE node = '@controller')"
      " AND kind = 'attempt' AND t_ns BETWEEN ?1 AND ?2 ORDER BY t_ns, source_id, offset");
  statement.Bind(1, from_ns).Bind(2, to_ns);
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<StepRow>> LoadSteps(Database& db, std::int64_t job_id) {
  Statement statement = db.Prepare(
      "SELECT source_id, slurm_step, data, clock_ns FROM step_block WHERE job_id = ?1 ORDER BY source_id, "
      "slurm_step, "
      "seq");
  statement.Bind(1, job_id);
  std::vector<StepRow> rows;
  std::vector<PackedStep> packed;
  while (statement.Step()) {
    packed.clear();
    const std::int64_t source_id = statement.Int(0);
    const std::string slurm_step = statement.Text(1);
    const std::optional<std::int64_t> clock_ns = statement.OptionalInt(3);
    if (!UnpackSteps(statement.Bytes(2), packed)) {
      return absl::DataLossError(Cat(db.path(), ": a step block of job ", job_id, " is damaged"));
    }
    for (const PackedStep& step : packed) {
      rows.push_back({source_id, step.offset, step.t_ns, clock_ns, step.step, step.task, slurm_step});
    }
  }
  if (!statement.status().ok()) return statement.status();
  return rows;
}

absl::StatusOr<std::vector<std::int64_t>> KnownJobs(Database& db) {
  return ReadIds(
      db.Prepare("SELECT job_id FROM accounting UNION SELECT job_id FROM event WHERE job_id IS NOT NULL"
                 " ORDER BY 1"));
}

absl::StatusOr<std::vector<std::int64_t>> JobsOfRun(Database& db, const std::string& name) {
  // Of a group, SQLite takes the other columns from the row that has the maximum.
  Statement statement = db.Prepare(
      "SELECT job_id FROM (SELECT job_id, run, max(t_ns) FROM job_option WHERE run IS NOT NULL GROUP BY "
      "job_id)"
      " WHERE run = ?1 ORDER BY 1");
  statement.Bind(1, name);
  return ReadIds(std::move(statement));
}

absl::StatusOr<std::map<std::int64_t, std::string>> RunNames(Database& db) {
  Statement statement =
      db.Prepare("SELECT job_id, run FROM job_option WHERE run IS NOT NULL ORDER BY job_id, t_ns");
  std::map<std::int64_t, std::string> names;
  while (statement.Step()) names[statement.Int(0)] = statement.Text(1);
  if (!statement.status().ok()) return statement.status();
  return names;
}

absl::StatusOr<std::vector<QuarantineRow>> LoadQuarantine(Database& db, std::int64_t limit) {
  Statement statement = db.Prepare(
      "SELECT source.node, source.file, quarantine.offset, quarantine.reason FROM quarantine"
      " JOIN source ON source.id = quarantine.source_id ORDER BY source.id, quarantine.offset LIMIT ?1");
  statement.Bind(1, limit);
  std::vector<QuarantineRow> rows;
  while (statement.Step())
    rows.push_back({statement.Text(0), statement.Text(1), statement.Int(2), statement.Text(3)});
  if (!statement.status().ok()) return statement.status();
  return rows;
}

}  // namespace goodput
