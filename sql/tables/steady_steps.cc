#include "sql/tables/steady_steps.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "spank/event.h"
#include "sql/tables/imports.h"
#include "sql/text.h"

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

// What its steps took on average.
std::int64_t StepTime(const Block& block) {
  return (block.last_t_ns - block.first_t_ns) / (block.last_step - block.first_step);
}

std::int64_t LeastStepTime(const std::vector<Block>& blocks) {
  std::int64_t least = 0;
  for (const Block& block : blocks) {
    // A single mark tells nothing.
    if (block.first_step < block.last_step)
      least = least == 0 ? StepTime(block) : std::min(least, StepTime(block));
  }
  return least;
}

// `next` goes on where `block` ends.
bool Continues(const Block& block, const Block& next) {
  return next.first_t_ns > block.last_t_ns && next.first_step > block.last_step && next.task == block.task &&
         next.slurm_step == block.slurm_step;
}

// What a job records while it trains, and what it does before.
constexpr std::array kTrains{kind::kMark, kind::kCheckpoint, kind::kPhase, kind::kHost, kind::kGpuUse};
constexpr std::array kBegins{kind::kQueue,     kind::kAttempt,  kind::kJobProlog,   kind::kStepStart,
                             kind::kTaskStart, kind::kTaskExec, kind::kProgramStart};

// Not `kind NOT IN (...)`, for which SQLite makes a table each time.
template <typename Kinds>
std::string NoneOf(const Kinds& kinds) {
  std::string sql;
  for (const std::string_view kind : kinds) sql += Cat(" AND kind <> '", kind, "'");
  return sql;
}

// Whether the job has such a record.
absl::StatusOr<bool> AnyRecord(Database& db, const JobKey& job, const std::string& such, std::int64_t t_ns) {
  Statement rows = db.Prepare(such);
  rows.BindView(1, job.cluster).Bind(2, job.job_id).Bind(3, t_ns);
  const bool found = rows.Step();
  if (!rows.status().ok()) return rows.status();
  return found;
}

constexpr const char* kOfTheJob =
    "SELECT 1 FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster IN (?1, '')"
    " WHERE event.job_id = ?2";

// Whether something else than the begin of its work was recorded before its first step: a program that ended.
absl::StatusOr<bool> AnythingElseBefore(Database& db, const JobKey& job, std::int64_t t_ns) {
  static const std::string sql =
      Cat(kOfTheJob, " AND event.t_ns < ?3", NoneOf(kBegins), NoneOf(kTrains), " LIMIT 1");
  return AnyRecord(db, job, sql, t_ns);
}

// Whether something else than marks and measurements was recorded since its last step: a program that ended
// or begins again, a job that is suspended, evidence of a hang. The watch may only now have seen that the job
// runs.
absl::StatusOr<bool> AnythingElseSince(Database& db, const JobKey& job, std::int64_t t_ns) {
  static const std::string sql =
      Cat(kOfTheJob, " AND event.t_ns >= ?3", NoneOf(kTrains),
          " AND NOT (kind IN ('queue', 'attempt') AND instr(record, '\"state\":\"RUNNING\"') > 0) LIMIT 1");
  return AnyRecord(db, job, sql, t_ns);
}

}  // namespace

absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job) {
  const absl::StatusOr<std::vector<Block>> blocks = LoadOrderedBlocks(db, job);
  if (!blocks.ok()) return blocks.status();
  const auto stops =
      std::adjacent_find(blocks->begin(), blocks->end(),
                         [](const Block& block, const Block& next) { return !Continues(block, next); });
  if (blocks->empty() || stops != blocks->end()) return std::nullopt;
  const SteadySteps steps{blocks->front().first_t_ns, blocks->back().last_t_ns, LeastStepTime(*blocks)};
  for (const absl::StatusOr<bool>& more :
       {AnythingElseSince(db, job, steps.last_t_ns), AnythingElseBefore(db, job, steps.first_t_ns)}) {
    if (!more.ok()) return more.status();
    if (*more) return std::nullopt;
  }
  return steps;
}

}  // namespace goodput
