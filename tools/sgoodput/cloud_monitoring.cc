#include "tools/sgoodput/cloud_monitoring.h"

#include <cstdio>
#include <set>
#include <vector>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/metrics/workload_series.h"
#include "tools/base/format.h"
#include "tools/sgoodput/cloud_program.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

Workload WorkloadOf(const Report& report) {
  const RunInfo& info = report.run.info;
  return {WorkloadId(info.cluster, info.user, info.run, info.job_id_text), info.cluster,
          AcceleratorType(info.gpu_type, report.account.has_gpus)};
}

absl::Status CheckUsage(const MetricsOptions& options) {
  if (options.select.truncate) {
    return absl::InvalidArgumentError(
        "--cloud-monitoring writes the time of whole runs, without -T; -S and -E only select them");
  }
  if (RemoteUrl(options.common)) {
    return absl::FailedPreconditionError(
        "--cloud-monitoring needs the database; run it on the controller, or name it with --db");
  }
  return absl::OkStatus();
}

class SelectedSeries {
 public:
  // Runs come by job id. One point of a series is all that a request may have.
  absl::Status Write(const Report& report, const WriteToProgram& write) {
    const Workload workload = WorkloadOf(report);
    const std::vector<WorkloadSeries> series = SeriesOfWorkload(workload, report.timeline);
    if (series.empty()) return absl::OkStatus();
    if (!written_.insert(workload.id).second) {
      std::fprintf(stderr, "sgoodput: not written: another run that is %s; use a later -S\n",
                   Printable(workload.id).c_str());
      complete_ = false;
      return absl::OkStatus();
    }
    std::string lines;
    for (const WorkloadSeries& one : series) lines += SeriesLine(workload, one) + "\n";
    return write(lines);
  }
  bool complete() const { return complete_; }

 private:
  std::set<std::string> written_;
  bool complete_ = true;
};

}  // namespace

int WriteCloudMonitoring(const MetricsOptions& options) {
  if (const absl::Status status = CheckUsage(options); !status.ok()) return Fail(status);
  std::vector<std::string> command{"goodput-google-cloud", "write-metrics", options.cloud_monitoring};
  if (!options.location.empty()) command.insert(command.end(), {"--location", options.location});
  SelectedSeries selected;
  const int code = FeedCloudProgram(command, [&](const WriteToProgram& write) {
    return ForEachSelected(
        options.common, options.select, {},
        [&](Session& /*session*/, const Report& report) { return selected.Write(report, write); });
  });
  return code == kAnswered && !selected.complete() ? kNothingMatched : code;
}

int CheckCloudMonitoring(const std::string& project) {
  return FeedCloudProgram({"goodput-google-cloud", "check-metrics", project},
                          [](const WriteToProgram&) { return absl::OkStatus(); });
}

}  // namespace goodput
