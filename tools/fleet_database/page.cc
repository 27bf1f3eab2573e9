// `sgoodput --fleet-db URL page`: the fleet of clusters as a page for a browser, which needs no server.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/fleet_database/fleet_session.h"
#include "tools/fleet_database/options.h"
#include "tools/fleet_database/selection.h"
#include "tools/sources/fleet_database/questions.h"
#include "tools/sources/fleet_database/utilization_question.h"
#include "tools/web/single_page.h"

namespace goodput {
namespace {

constexpr std::int64_t kListedRuns = 200;

// Whole days in UTC, as the fleet database has them.
absl::StatusOr<FleetSelection> SelectPage(const FleetPageOptions& options) {
  FleetSelectOptions all = options.select;
  all.all_users = true;
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(FleetSelection select, ReadFleetSelection(all, now));
  const Ns end = select.end.value_or(absl::ToUnixNanos(now));
  select.start = UtcDay(*select.start) * kUtcDay;
  select.end = std::max(*select.start + kUtcDay, (UtcDay(end - 1) + 1) * kUtcDay);
  select.truncate = true;
  return select;
}

std::string JsonOf(const std::optional<double>& number) {
  return number ? absl::StrFormat("%.17g", *number) : "null";
}

// Of thousands of nodes, only what the page shows.
std::string NodesAsJson(const RollupReport& report) {
  std::vector<std::string> rows;
  for (const RollupRow& row : report.rows) {
    std::vector<std::string> groups;
    for (const absl::string_view part : absl::StrSplit(row.group, '\x1f'))
      groups.push_back(QuotedJson(std::string(part)));
    rows.push_back(Cat("{\"group\":", QuotedJson(absl::StrReplaceAll(row.group, {{"\x1f", " "}})),
                       ",\"groups\":[", absl::StrJoin(groups, ","), "],\"runs\":", row.runs,
                       ",\"node_failures\":", row.node_failures, ",\"chance\":", JsonOf(row.chance), "}"));
  }
  return Cat("{\"rows\":[", absl::StrJoin(rows, ","), "]}");
}

std::string RunAsJson(const FleetRun& run) {
  // The key of a run is JOB@SECONDS.
  const std::vector<std::string> key = absl::StrSplit(run.unit, '@');
  const auto text = [](const char* name, const std::string& value) {
    return Cat("\"", name, "\":", QuotedJson(value), ",");
  };
  return Cat("{", text("cluster", run.cluster), text("url", run.cluster_url), text("job", run.job_id_text),
             text("submit_s", key.size() == 2 ? key[1] : ""), text("run", run.run), text("user", run.user),
             text("account", run.account), text("state", run.state),
             "\"final\":", run.final ? "true" : "false", ",\"begin_ns\":", run.begin, ",\"gpus\":", run.gpus,
             ",\"attempts\":", run.attempts,
             ",\"wanted_gpu_seconds\":", JsonOf(static_cast<double>(run.sums.wanted()) / 1e9),
             ",\"scheduling\":", JsonOf(run.sums.scheduling()), ",\"runtime\":", JsonOf(run.sums.runtime()),
             ",\"sg_rg\":", JsonOf(run.sums.sg_rg()), "}");
}

absl::StatusOr<std::string> RunsAsJson(FleetConnection& connection, const FleetSelection& select) {
  ASSIGN_OR_RETURN(const FleetRuns found, RunsOfFleet(connection, select, kListedRuns));
  std::vector<std::string> runs;
  for (const FleetRun& run : found.runs) runs.push_back(RunAsJson(run));
  return Cat("{\"more\":", found.more ? "true" : "false", ",\"rows\":[", absl::StrJoin(runs, ","), "]}");
}

absl::StatusOr<std::string> ClustersAsJson(FleetConnection& connection) {
  ASSIGN_OR_RETURN(const std::vector<FleetClusterStatus> clusters, ClustersOfFleet(connection));
  std::vector<std::string> rows;
  rows.reserve(clusters.size());
  for (const FleetClusterStatus& of : clusters)
    rows.push_back(Cat("{\"cluster\":", QuotedJson(of.cluster), ",\"url\":", QuotedJson(of.url),
                       ",\"as_of_ns\":", of.as_of ? std::to_string(*of.as_of) : "null", "}"));
  return Cat("[", absl::StrJoin(rows, ","), "]");
}

absl::StatusOr<std::string> PageAsJson(FleetConnection& connection, const FleetSelection& select) {
  UtilizationQuestion use;
  use.clusters = select.clusters;
  use.by = {"cluster"};
  use.begin = *select.start;
  use.end = *select.end;
  ASSIGN_OR_RETURN(const UtilizationReport used, AskUtilization(connection, use));
  std::string reports;
  for (const char* by : {"cluster", "cluster,month", "day", "user", "account", "reservation", "node"}) {
    const FleetQuestion question{select, absl::StrSplit(by, ','), 0};
    ASSIGN_OR_RETURN(const RollupReport report, AskFleet(connection, question));
    const bool nodes = question.by.front() == "node";
    reports +=
        Cat(reports.empty() ? "" : ",", "\"", by, "\":", nodes ? NodesAsJson(report) : RollupAsJson(report));
  }
  ASSIGN_OR_RETURN(const std::string runs, RunsAsJson(connection, select));
  ASSIGN_OR_RETURN(const std::string clusters, ClustersAsJson(connection));
  return Cat("{\"fleet\":{\"written_ns\":", absl::GetCurrentTimeNanos(), ",\"clusters\":", clusters,
             ",\"use\":", UtilizationAsJson(used), ",\"reports\":{", reports, "},\"runs\":", runs, "}}");
}

}  // namespace

int RunFleetPage(const FleetPageOptions& options) {
  const absl::StatusOr<FleetSelection> select = SelectPage(options);
  if (!select.ok()) return FailFleet(select.status());
  absl::StatusOr<FleetConnection> connection = OpenFleet(options.common);
  if (!connection.ok()) return FailFleet(connection.status());
  const absl::StatusOr<std::string> json = PageAsJson(*connection, *select);
  if (!json.ok()) return FailFleet(json.status());
  const std::string page = SinglePage(WebAssets(), *json);
  if (std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0)
    return kFleetAnswered;
  return FailFleet(absl::FailedPreconditionError(Cat("stdout: cannot write: ", std::strerror(errno))));
}

}  // namespace goodput
