#include "sql/tables/steady_steps.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "sql/tables/imports.h"

namespace goodput {
namespace {

struct Block {
  std::int64_t first_t_ns = 0;
  std::int64_t last_t_ns = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t task = 0;
  std::string slurm_step;
};

// By time; none: the marks in one of them have no order.
absl::StatusOr<std::vector<Block>> LoadOrderedBlocks(Database& db, const JobKey& job) {
  Statement rows = db.Prepare(
      "SELECT first_t_ns, last_t_ns, first_step, last_step, task, slurm_step, stride IS NOT NULL OR marks = "
      "1,"
      " source.node FROM step_block CROSS JOIN source"
      " ON source.id = step_block.source_id AND source.cluster IN (?1, '') WHERE step_block.job_id = ?2");
  rows.BindView(1, job.cluster).Bind(2, job.job_id);
  std::vector<Block> blocks;
  while (rows.Step()) {
    if (rows.Int(6) == 0 || rows.Bytes(7) == kImportNode) return std::vector<Block>();
    blocks.push_back({rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3), rows.Int(4), rows.Text(5)});
  }
  if (!rows.status().ok()) return rows.status();
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return std::tie(a.first_t_ns, a.last_t_ns) < std::tie(b.first_t_ns, b.last_t_ns);
  });
  return blocks;
}

// `next` goes on where `block` ends.
bool Continues(const Block& block, const Block& next) {
  return next.first_t_ns > block.last_t_ns && next.first_step > block.last_step && next.task == block.task &&
         next.slurm_step == block.slurm_step;
}

// Whether there is a record of anything else: a program that ended or began again, a job that was suspended,
// evidence of a hang. The watch may see that the job runs only after its first step.
absl::StatusOr<bool> AnythingElse(Database& db, const JobKey& job, std::int64_t first_step_t_ns) {
  Statement rows = db.Prepare(
      "SELECT 1 FROM event CROSS JOIN source"
      " ON source.id = event.source_id AND source.cluster IN (?1, '') WHERE event.job_id = ?2"
      " AND kind NOT IN ('mark', 'checkpoint', 'phase', 'host', 'gpu_use')"
      " AND NOT (t_ns <= ?3 AND kind IN ('queue', 'attempt', 'job_prolog', 'step_start', 'task_start',"
      " 'task_exec', 'program_start'))"
      " AND NOT (kind IN ('queue', 'attempt') AND instr(record, '\"state\":\"RUNNING\"') > 0) LIMIT 1");
  rows.BindView(1, job.cluster).Bind(2, job.job_id).Bind(3, first_step_t_ns);
  const bool found = rows.Step();
  if (!rows.status().ok()) return rows.status();
  return found;
}

}  // namespace

absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job) {
  const absl::StatusOr<std::vector<Block>> blocks = LoadOrderedBlocks(db, job);
  if (!blocks.ok()) return blocks.status();
  const auto stops =
      std::adjacent_find(blocks->begin(), blocks->end(),
                         [](const Block& block, const Block& next) { return !Continues(block, next); });
  if (blocks->empty() || stops != blocks->end()) return std::nullopt;
  const SteadySteps steps{blocks->front().first_t_ns, blocks->back().last_t_ns};
  const absl::StatusOr<bool> else_ = AnythingElse(db, job, steps.first_t_ns);
  if (!else_.ok()) return else_.status();
  return *else_ ? std::nullopt : std::optional(steps);
}

}  // namespace goodput
