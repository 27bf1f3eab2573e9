// `sgoodput metrics`: prints what goodputd serves as /metrics, or writes to Cloud Monitoring.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/losses.h"
#include "tools/accounting/metrics/run_metrics.h"
#include "tools/sgoodput/cloud_monitoring.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// Losses concern all users' jobs.
absl::StatusOr<std::map<std::string, std::int64_t>> LossesFor(Session& session) {
  std::map<std::string, std::int64_t> sums;
  if (!session.viewer.all) return sums;
  ASSIGN_OR_RETURN(const std::vector<NodeLosses> losses, LoadLosses(session.db));
  for (const NodeLosses& node : losses) {
    for (const auto& [what, count] : node.counts) sums[what] += count;
  }
  return sums;
}

}  // namespace

int RunMetricsCommand(const MetricsOptions& options) {
  if (!options.cloud_monitoring.empty()) return WriteCloudMonitoring(options);
  absl::StatusOr<Session> session = OpenSession(options.common, {}, std::nullopt);
  if (!session.ok()) return Fail(session.status());
  const absl::StatusOr<std::map<std::string, std::int64_t>> losses = LossesFor(*session);
  if (!losses.ok()) return Fail(losses.status());
  RunMetrics metrics(session->now);
  CommonOptions common = options.common;
  common.no_refresh = true;  // it was refreshed just now
  SelectionOptions all;
  all.all_users = true;
  all.start = "1970-01-02";
  const absl::Status status =
      ForEachSelected(common, all, {}, [&](Session& /*session*/, const Report& report) {
        const RunInfo& info = report.run.info;
        metrics.Add({info.partition, info.account, info.qos}, report.timeline);
        return absl::OkStatus();
      });
  if (!status.ok()) return Fail(status);
  std::fputs(metrics.Text(*losses).c_str(), stdout);
  return kAnswered;
}

}  // namespace goodput
