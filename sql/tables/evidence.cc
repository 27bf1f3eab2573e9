#include "sql/tables/evidence.h"

#include <algorithm>
#include <utility>

#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// A submit time in whole seconds may be up to a second after records that the job wrote at once.
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

absl::StatusOr<SourceRow> LoadSource(Database& db, std::int64_t id) {
  Statement statement =
      db.Prepare("SELECT id, cluster, node, file, offset, records, bad FROM source WHERE id = ?1");
  statement.Bind(1, id);
  if (statement.Step()) {
    return SourceRow{statement.Int(0), statement.Text(1), statement.Text(2), statement.Text(3),
                     statement.Int(4), statement.Int(5),  statement.Int(6)};
  }
  return statement.status().ok() ? absl::NotFoundError(Cat(db.path(), ": there is no source ", id))
                                 : statement.status();
}

std::pair<std::int64_t, std::int64_t> TimesOf(const JobKey& job) {
  return {FirstNs(job), EndNs(job)};
}

namespace {

// Smaller blocks are read at once, which is cheaper than tracking them.
constexpr std::int64_t kFewMarks = 64;

constexpr const char* kFromBlocks =
    " FROM step_block CROSS JOIN source ON source.id = step_block.source_id AND source.cluster IN (?1, '')"
    " WHERE step_block.job_id = ?2 ORDER BY step_block.source_id, step_block.slurm_step, step_block.seq";

absl::Status DamagedSteps(const Database& db, std::int64_t job_id) {
  return absl::DataLossError(Cat(db.path(), ": a step block of job ", job_id, " is damaged"));
}

struct BlockOwner {
  std::int64_t source_id = 0;
  std::optional<std::int64_t> clock_ns;
  std::string slurm_step;
};

void AddRows(const BlockOwner& owner, const std::vector<PackedStep>& steps, std::vector<StepRow>& rows) {
  if (rows.empty()) rows.reserve(steps.size());
  for (const PackedStep& step : steps) {
    rows.push_back(
        {owner.source_id, step.offset, step.t_ns, owner.clock_ns, step.step, step.task, owner.slurm_step});
  }
}

void KeepTimes(const JobKey& job, std::vector<PackedStep>& steps) {
  const std::int64_t first_ns = FirstNs(job);
  const std::int64_t end_ns = EndNs(job);
  steps.erase(std::remove_if(steps.begin(), steps.end(),
                             [&](const PackedStep& s) { return s.t_ns < first_ns || s.t_ns >= end_ns; }),
              steps.end());
}

}  // namespace

absl::StatusOr<std::vector<StepRow>> LoadSteps(Database& db, const JobKey& job) {
  Statement statement =
      db.Prepare(Cat("SELECT step_block.source_id, slurm_step, clock_ns, data", kFromBlocks));
  statement.Bind(1, job.cluster).Bind(2, job.job_id);
  std::vector<StepRow> rows;
  while (statement.Step()) {
    std::vector<PackedStep> steps;
    if (!UnpackSteps(statement.Bytes(3), steps)) return DamagedSteps(db, job.job_id);
    KeepTimes(job, steps);
    AddRows({statement.Int(0), statement.OptionalInt(2), statement.Text(1)}, steps, rows);
  }
  if (!statement.status().ok()) return statement.status();
  return rows;
}

namespace {

absl::StatusOr<std::vector<PackedStep>> StepsIn(std::string_view data, const Database& db,
                                                const StepBlockRow& block) {
  std::vector<PackedStep> steps;
  if (!UnpackSteps(data, steps) || static_cast<std::int64_t>(steps.size()) < block.marks)
    return DamagedSteps(db, block.job_id);
  steps.resize(static_cast<std::size_t>(block.marks));  // it may have grown since
  return steps;
}

}  // namespace

absl::StatusOr<JobSteps> LoadJobSteps(Database& db, const JobKey& job) {
  Statement statement = db.Prepare(Cat(
      "SELECT step_block.source_id, slurm_step, clock_ns, seq, marks, stride, task, first_t_ns, last_t_ns,"
      " first_step, last_step, first_offset, last_offset, durations,"
      " CASE WHEN stride IS NULL OR marks < ?3 THEN data END, source.cluster, source.node, source.file",
      kFromBlocks));
  statement.BindView(1, job.cluster).Bind(2, job.job_id).Bind(3, kFewMarks);
  JobSteps loaded;
  while (statement.Step()) {
    if (loaded.sources.empty() || loaded.sources.back().id != statement.Int(0))
      loaded.sources.push_back(
          {statement.Int(0), statement.Text(15), statement.Text(16), statement.Text(17)});
    const std::optional<std::int64_t> stride = statement.OptionalInt(5);
    StepBlockRow block{statement.Int(0),
                       job.job_id,
                       statement.Text(1),
                       statement.Int(3),
                       statement.Int(4),
                       {statement.Int(7), statement.Int(9), statement.Int(6), statement.Int(11)},
                       {statement.Int(8), statement.Int(10), statement.Int(6), statement.Int(12)},
                       statement.OptionalInt(2),
                       stride.value_or(0),
                       {}};
    // If an id was reused, marks in one block may belong to several jobs.
    const bool whole = block.first.t_ns >= FirstNs(job) && block.last.t_ns < EndNs(job);
    if (stride && whole && block.marks >= kFewMarks) {
      if (!block.durations.AddEncoded(statement.Bytes(13))) return DamagedSteps(db, job.job_id);
      loaded.blocks.push_back(std::move(block));
      continue;
    }
    // Reading the marks reads the whole row, so that the statement has them only of blocks with few.
    ASSIGN_OR_RETURN(std::vector<PackedStep> steps, stride && block.marks >= kFewMarks
                                                        ? LoadStepsOfBlock(db, block)
                                                        : StepsIn(statement.Bytes(14), db, block));
    KeepTimes(job, steps);
    AddRows({block.source_id, block.clock_ns, block.slurm_step}, steps, loaded.marks);
  }
  if (!statement.status().ok()) return statement.status();
  return loaded;
}

absl::StatusOr<std::vector<PackedStep>> LoadStepsOfBlock(Database& db, const StepBlockRow& block) {
  Statement statement = db.Prepare(
      "SELECT data FROM step_block"
      " WHERE source_id = ?1 AND job_id = ?2 AND slurm_step = ?3 AND seq = ?4");
  statement.Bind(1, block.source_id).Bind(2, block.job_id).Bind(3, block.slurm_step).Bind(4, block.seq);
  const bool there = statement.Step();
  if (!statement.status().ok()) return statement.status();
  return StepsIn(there ? statement.Bytes(0) : std::string_view(), db, block);
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
