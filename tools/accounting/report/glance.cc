#include "tools/accounting/report/glance.h"

#include "sql/status_macros.h"
#include "sql/tables/steady_steps.h"
#include "tools/accounting/timeline/hang.h"

namespace goodput {
namespace {

// The longest step of which a glance is enough: with longer ones, marks are few.
constexpr Ns kLongest = 600 * kSecond;
// The newest steps may take longer than the run's median step, by which a stall is judged. So a step is
// awaited for this share of what would be a stall by the newest steps.
constexpr double kShareOfStall = 0.4;

// No other job had its id, and something was heard of it lately.
bool IsHeard(const JobKey& job, Ns now) {
  const JobKey any;
  return job.from_s == any.from_s && job.until_s == any.until_s && job.heard_s >= (now - kLongest) / kSecond;
}

// Whether the newest step began so lately that it cannot be stalled.
bool IsGoingOn(const SteadySteps& steps, Ns now, double stall_factor) {
  if (steps.last_t_ns > now) return false;  // its node's clock is wrong
  const Ns since = now - steps.last_t_ns;
  if (since <= kHang) return true;
  if (since > kLongest) return false;
  const double median = static_cast<double>(steps.Median().value_or(0));
  return static_cast<double>(since) <= kShareOfStall * stall_factor * median;
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
  if (!steps || !IsGoingOn(*steps, now, stall_factor)) return std::nullopt;
  ASSIGN_OR_RETURN(const bool blocks, cluster.AnyBlocks(job.job_id));
  if (blocks) return std::nullopt;
  ASSIGN_OR_RETURN(const std::vector<AccountingRow> rows, cluster.RowsOf(job));
  if (rows.size() != 1 || !RunsForTheFirstTime(rows.front())) return std::nullopt;
  RunNow trains;
  trains.gpus = static_cast<int>(rows.front().gpus);
  return trains;
}

}  // namespace goodput
