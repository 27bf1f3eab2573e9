#include "sql/tables/steady_steps.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "sql/blocks/duration_histogram.h"
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

// A program may mark any number; reports leave out what is no step's or no time.
bool IsPossible(const Block& block) {
  return block.first_step >= 0 && block.last_step <= kMaxTrainStep && block.first_t_ns >= 0;
}

// With fewer, the first step of a start, which takes longer, would count for much.
constexpr std::int64_t kEnoughMarks = 16;

struct Blocks {
  std::vector<Block> by_time;  // none: the marks in one of them have no order, or are no steps
  std::string durations;       // of the newest that has enough marks
};

absl::StatusOr<Blocks> LoadBlocks(Database& db, const JobKey& job) {
  Statement rows = db.Prepare(
      "SELECT first_t_ns, last_t_ns, first_step, last_step, task, slurm_step,"
      " stride IS NOT NULL OR marks = 1, source.node, marks, durations FROM step_block CROSS JOIN source"
      " ON source.id = step_block.source_id AND source.cluster IN (?1, '') WHERE step_block.job_id = ?2");
  rows.BindView(1, job.cluster).Bind(2, job.job_id);
  Blocks blocks;
  std::int64_t newest_t_ns = 0;  // of blocks.durations
  while (rows.Step()) {
    const Block& block = blocks.by_time.emplace_back(
        Block{rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3), rows.Int(4), rows.Text(5)});
    if (rows.Int(6) == 0 || rows.Bytes(7) == kImportNode || !IsPossible(block)) return Blocks();
    if (rows.Int(8) < kEnoughMarks || block.last_t_ns < newest_t_ns) continue;
    newest_t_ns = block.last_t_ns;
    blocks.durations = rows.Text(9);
  }
  if (!rows.status().ok()) return rows.status();
  std::sort(blocks.by_time.begin(), blocks.by_time.end(), [](const Block& a, const Block& b) {
    return std::tie(a.first_t_ns, a.last_t_ns) < std::tie(b.first_t_ns, b.last_t_ns);
  });
  return blocks;
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

std::optional<std::int64_t> SteadySteps::Median() const {
  DurationHistogram histogram;
  if (durations.empty() || !histogram.AddEncoded(durations)) return std::nullopt;
  return histogram.Median();
}

absl::StatusOr<std::optional<SteadySteps>> LoadSteadySteps(Database& db, const JobKey& job) {
  absl::StatusOr<Blocks> blocks = LoadBlocks(db, job);
  if (!blocks.ok()) return blocks.status();
  const std::vector<Block>& by_time = blocks->by_time;
  const auto stops =
      std::adjacent_find(by_time.begin(), by_time.end(),
                         [](const Block& block, const Block& next) { return !Continues(block, next); });
  if (by_time.empty() || stops != by_time.end()) return std::nullopt;
  SteadySteps steps{by_time.front().first_t_ns, by_time.back().last_t_ns, std::move(blocks->durations)};
  for (const absl::StatusOr<bool>& more :
       {AnythingElseSince(db, job, steps.last_t_ns), AnythingElseBefore(db, job, steps.first_t_ns)}) {
    if (!more.ok()) return more.status();
    if (*more) return std::nullopt;
  }
  return steps;
}

}  // namespace goodput
