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

// The spool files of a cluster, and those of which no record names one. The + keeps SQLite to the index by
// job or kind: a cluster has thousands of files.
constexpr const char* kOfCluster = "+source_id IN (SELECT id FROM source WHERE cluster IN (?1, ''))";

// Rounded down to seconds, a submit is up to one earlier than what the job did at once.
constexpr std::int64_t kSecondNs = 1'000'000'000;
std::int64_t FirstNs(const JobKey& job) {
  return job.from_s < INT64_MIN / kSecondNs ? INT64_MIN : job.from_s * kSecondNs;
}
std::int64_t EndNs(const JobKey& job) {
  return job.until_s > INT64_MAX / kSecondNs ? INT64_MAX : job.until_s * kSecondNs;
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

absl::StatusOr<std::vector<EventRow>> LoadEvents(Database& db, const JobKey& job) {
  Statement statement =
      db.Prepare(Cat("SELECT source_id, offset, t_ns, kind, record FROM event WHERE ", kOfCluster,
                     " AND job_id = ?2 AND t_ns >= ?3 AND t_ns < ?4"
                     " ORDER BY t_ns, source_id, offset"));
  statement.Bind(1, job.cluster).Bind(2, job.job_id).Bind(3, FirstNs(job)).Bind(4, EndNs(job));
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<EventRow>> LoadJoblessEvents(Database& db, const std::string& cluster,
                                                        const std::string& kind, std::int64_t from_ns,
                                                        std::int64_t to_ns) {
  Statement statement =
      db.Prepare(Cat("SELECT source_id, offset, t_ns, kind, record FROM event WHERE ", kOfCluster,
                     " AND job_id IS NULL AND kind = ?2 AND t_ns BETWEEN ?3 AND ?4"
                     " ORDER BY t_ns, source_id, offset"));
  statement.Bind(1, cluster).Bind(2, kind).Bind(3, from_ns).Bind(4, to_ns);
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<EventRow>> LoadWatchedAttempts(Database& db, const std::string& cluster,
                                                          std::int64_t from_ns, std::int64_t to_ns) {
  Statement statement = db.Prepare(
      "SELECT source_id, offset, t_ns, kind, record FROM event"
      " WHERE source_id IN (SELECT id FROM source WHERE node = '@controller' AND cluster IN (?1, ''))"
      " AND kind = 'attempt' AND t_ns BETWEEN ?2 AND ?3 ORDER BY t_ns, source_id, offset");
  statement.Bind(1, cluster).Bind(2, from_ns).Bind(3, to_ns);
  return ReadEvents(std::move(statement));
}

absl::StatusOr<std::vector<StepRow>> LoadSteps(Database& db, const JobKey& job) {
  Statement statement =
      db.Prepare(Cat("SELECT source_id, slurm_step, data, clock_ns, framed FROM step_block WHERE ",
                     kOfCluster, " AND job_id = ?2 ORDER BY source_id, slurm_step, seq"));
  statement.Bind(1, job.cluster).Bind(2, job.job_id);
  const std::int64_t first_ns = FirstNs(job);
  const std::int64_t end_ns = EndNs(job);
  std::vector<StepRow> rows;
  std::vector<PackedStep> packed;
  while (statement.Step()) {
    packed.clear();
    const std::int64_t source_id = statement.Int(0);
    const std::string slurm_step = statement.Text(1);
    const std::optional<std::int64_t> clock_ns = statement.OptionalInt(3);
    if (!UnpackSteps(statement.Bytes(2), static_cast<std::size_t>(statement.Int(4)), packed)) {
      return absl::DataLossError(Cat(db.path(), ": a step block of job ", job.job_id, " is damaged"));
    }
    for (const PackedStep& step : packed) {
      if (step.t_ns < first_ns || step.t_ns >= end_ns) continue;
      rows.push_back({source_id, step.offset, step.t_ns, clock_ns, step.step, step.task, slurm_step});
    }
  }
  if (!statement.status().ok()) return statement.status();
  return rows;
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
