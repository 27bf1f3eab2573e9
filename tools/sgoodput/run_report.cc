#include "tools/sgoodput/run_report.h"

#include <algorithm>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {

absl::StatusOr<std::vector<Report>> MakeReports(Session& session, const std::vector<JobKey>& jobs,
                                                const TimelineOptions& options, ClusterReader& cluster,
                                                bool counted) {
  const ReportSettings settings{
      options, session.now, session.config.peaks, session.config.busbw, session.viewer.all, counted};
  return MakeReports(session.db, cluster, jobs, settings);
}

absl::StatusOr<Report> MakeReport(Target& target, const TimelineOptions& options) {
  const Snapshot snapshot(target.session.db);
  if (!snapshot.status().ok()) return snapshot.status();
  ClusterReader cluster(target.session.db);
  ASSIGN_OR_RETURN(std::vector<Report> reports, MakeReports(target.session, target.jobs, options, cluster));
  if (target.chained_job) {
    const auto has_it = [&](const Report& report) {
      return std::any_of(report.run.facts.attempts.begin(), report.run.facts.attempts.end(),
                         [&](const AttemptFacts& attempt) { return attempt.job_id == *target.chained_job; });
    };
    const auto its = std::find_if(reports.begin(), reports.end(), has_it);
    return std::move(its == reports.end() ? reports.front() : *its);
  }
  if (target.strand >= reports.size())
    return absl::NotFoundError(Cat("there is no part ", target.strand + 1));
  return std::move(reports[target.strand]);
}

}  // namespace goodput
