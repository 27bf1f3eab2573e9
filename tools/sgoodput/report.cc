#include "tools/sgoodput/report.h"

#include <utility>

namespace goodput {

absl::StatusOr<Report> MakeReport(Database& db, const std::vector<std::int64_t>& job_ids, Ns now,
                                  const TimelineOptions& options) {
  absl::StatusOr<Run> run = LoadRun(db, job_ids, now);
  if (!run.ok()) return run.status();
  Report report;
  report.run = *std::move(run);
  // The attempts stay where they are when a report is moved: a vector's elements do not move with it.
  report.timeline = BuildTimeline(report.run.facts, options);
  report.account = TakeAccount(report.timeline);
  return report;
}

}  // namespace goodput
