#include "tools/sgoodput/report.h"

#include <utility>

#include "sql/text.h"
#include "tools/runs/strands.h"

namespace goodput {

absl::StatusOr<std::vector<Report>> MakeReports(Database& db, const std::vector<JobKey>& jobs, Ns now,
                                                const TimelineOptions& options) {
  absl::StatusOr<std::vector<Run>> runs = LoadStrands(db, jobs, now);
  if (!runs.ok()) return runs.status();
  std::vector<Report> reports;
  for (Run& run : *runs) {
    Report report;
    report.run = std::move(run);
    // The attempts stay where they are when a report is moved: a vector's elements do not move with it.
    report.timeline = BuildTimeline(report.run.facts, options);
    report.account = TakeAccount(report.timeline);
    if (runs->size() > 1) {
      const std::string& name = reports.empty() ? report.run.info.run : reports.front().run.info.run;
      report.timeline.warnings.push_back(Cat("jobs of run ", name, " had resources at once: they are ",
                                             runs->size(), " runs, ", name, " to ", name, "#", runs->size(),
                                             "; give each its own --goodput-run"));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

absl::StatusOr<Report> MakeReport(Target& target, const TimelineOptions& options) {
  absl::StatusOr<std::vector<Report>> reports =
      MakeReports(target.session.db, target.jobs, target.session.now, options);
  if (!reports.ok()) return reports.status();
  if (target.strand >= reports->size()) return absl::NotFoundError(Cat("it has no part ", target.strand + 1));
  return std::move((*reports)[target.strand]);
}

}  // namespace goodput
