#include "tools/accounting/report/glance.h"

#include <algorithm>

#include "sql/status_macros.h"
#include "sql/tables/steady_steps.h"
#include "tools/accounting/timeline/hang.h"

namespace goodput {
namespace {

// The longest step of which a glance is enough: with longer ones, marks are few.
constexpr Ns kLongest = 600 * kSecond;
// A step is stalled after `stall_factor` times the median, which may be less than what steps take on average.
constexpr double kMedianOfMean = 0.4;

// Of the id, all that is there is of this job, and something was heard of it lately.
bool IsHeard(const JobKey& job, Ns now) {
  const JobKey any;
  return job.from_s == any.from_s && job.until_s == any.until_s && job.heard_s >= (now - kLongest) / kSecond;
}

// How long ago the newest step may have begun.
Ns LongestSince(const SteadySteps& steps, double stall_factor) {
  const double since = kMedianOfMean * stall_factor * static_cast<double>(steps.least_ns);
  return std::max(kHang, since < static_cast<double>(kLongest) ? static_cast<Ns>(since) : kLongest);
}

bool RunsForTheFirstTime(const AccountingRow& row) {
  const bool alone = row.job_id_text.find('+') == std::string::npos;  // not a part of a heterogeneous job
  return row.state == "RUNNING" && row.start_s && !row.end_s && row.restarts.value_or(0) == 0 &&
         row.suspended_s == 0 && alone;
}

}  // namespace

absl::StatusOr<std::optional<RunNow>> GlanceAtNow(Database& db, ClusterReader& cluster,
                                                  const std::vector<JobKey>& run, Ns now,
                                                  double stall_factor) {
  if (run.size() != 1 || !IsHeard(run.front(), now)) return std::nullopt;
  const JobKey& job = run.front();
  ASSIGN_OR_RETURN(const std::optional<SteadySteps> steps, LoadSteadySteps(db, job));
  // A later one is of a clock that is wrong.
  if (!steps || steps->last_t_ns > now || steps->last_t_ns < now - LongestSince(*steps, stall_factor))
    return std::nullopt;
  ASSIGN_OR_RETURN(const bool blocks, cluster.AnyBlocks(job.job_id));
  if (blocks) return std::nullopt;
  ASSIGN_OR_RETURN(const std::vector<AccountingRow> rows, cluster.RowsOf(job));
  if (rows.size() != 1 || !RunsForTheFirstTime(rows.front())) return std::nullopt;
  RunNow trains;
  trains.gpus = static_cast<int>(rows.front().gpus);
  return trains;
}

}  // namespace goodput
