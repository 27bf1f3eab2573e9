// `sgoodput report --fleet`: what became of all GPUs of a cluster, held or not.
#include "tools/sgoodput/report_fleet.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/watch_times.h"
#include "sql/text.h"
#include "tools/accounting/fleet/load_fleet.h"
#include "tools/accounting/fleet/load_node_days.h"
#include "tools/accounting/report/fleet_report.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/utilization.h"
#include "tools/base/format.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// A running watch records a look from time to time: until the next one, the last one counts as now.
constexpr Ns kWatchGoesOn = 600 * kSecond;

// The keys of --by node, day or month; empty: another one.
std::vector<std::string> UseKeysOf(const RollupOptions& options) {
  std::vector<std::string> keys = absl::StrSplit(options.by, ',');
  const bool known = std::all_of(keys.begin(), keys.end(), [](const std::string& key) {
    return key == "node" || key == "day" || key == "month";
  });
  const bool twice = keys.size() == 2 && keys[0] == keys[1];
  if (!known || twice || keys.size() > 2) keys.clear();
  return keys;
}

absl::Status Check(const RollupOptions& options) {
  const SelectionOptions& select = options.select;
  const bool some = !select.jobs.empty() || !select.users.empty() || !select.accounts.empty() ||
                    !select.partitions.empty() || !select.states.empty() || !select.nodes.empty();
  if (some) {
    return absl::InvalidArgumentError(
        "--fleet covers all jobs on all nodes and cannot be used with -j, -u, -A, -r, -s or -N; use --by "
        "partition for partitions");
  }
  if (!select.exclude.empty() || !select.names.empty())
    return absl::InvalidArgumentError("--fleet cannot be used with --exclude or --name");
  if (!options.window.empty() || options.price)
    return absl::InvalidArgumentError(
        "--fleet cannot be used with --window or --gpu-hour; select a time with -S and -E");
  const bool partition = options.by.empty() || options.by == "partition" || options.by == "all";
  if (partition && options.csv)
    return absl::InvalidArgumentError("--csv cannot be used with --fleet --by partition; use -P");
  return partition || !UseKeysOf(options).empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   Cat("--by: --fleet supports partition, node, day and month, or two ",
                       "of the last three, not '", Printable(options.by), "'"));
}

absl::StatusOr<std::string> ClusterOf(const RollupOptions& options, Session& session) {
  if (options.select.clusters.size() > 1 || options.select.all_clusters)
    return absl::InvalidArgumentError("--fleet covers one cluster; select it with -M CLUSTER");
  if (!options.select.clusters.empty()) return options.select.clusters.front();
  if (!session.config.cluster.empty()) return session.config.cluster;
  ASSIGN_OR_RETURN(const std::vector<std::string> clusters, WatchedClusters(session.db));
  if (clusters.size() > 1) {
    return absl::InvalidArgumentError(Cat("clusters ", absl::StrJoin(clusters, " and "),
                                          " are in the database; select one with -M CLUSTER"));
  }
  return clusters.empty() ? std::string() : clusters.front();
}

absl::StatusOr<Session> OpenAll(const RollupOptions& options, Ns begin) {
  ASSIGN_OR_RETURN(Session session, OpenSession(options.common, {}, begin / kSecond));
  // Hidden jobs would look like idle GPUs.
  if (session.viewer.all) return session;
  return absl::PermissionDeniedError(
      "--fleet needs all jobs, but Slurm's PrivateData hides those of other users: only operators may use "
      "it");
}

// All runs of the cluster in the selected time.
absl::Status ForEachRun(const RollupOptions& options, const std::string& cluster,
                        const std::function<void(const Report&)>& take) {
  RollupOptions all = options;
  all.common.no_refresh = true;
  all.select.all_users = true;
  all.select.clusters = {cluster};
  return ForEachSelected(all.common, all.select, {options.stall_factor},
                         [&](Session& /*session*/, const Report& one) {
                           take(one);
                           return absl::OkStatus();
                         });
}

absl::StatusOr<FleetReport> MakeFleet(const RollupOptions& options, absl::Time now) {
  RETURN_IF_ERROR(Check(options));
  ASSIGN_OR_RETURN(const SelectedTime time, TimeOfSelection(options.select, now));
  FleetReport report;
  report.by = options.by == "partition" ? "partition" : "all";
  report.begin = *time.start;  // always set without -j
  ASSIGN_OR_RETURN(Session session, OpenAll(options, report.begin));
  ASSIGN_OR_RETURN(const std::string cluster, ClusterOf(options, session));
  report.cluster = cluster;
  report.end = std::min(time.end.value_or(session.now), session.now);
  absl::StatusOr<FleetNodes> nodes = LoadFleetNodes(session.db, cluster, report.begin, report.end);
  if (!nodes.ok()) return nodes.status();
  if (!time.end && nodes->watched_until > report.begin && report.end - nodes->watched_until < kWatchGoesOn) {
    report.end = std::min(report.end, nodes->watched_until);
    nodes = LoadFleetNodes(session.db, cluster, report.begin, report.end);
    if (!nodes.ok()) return nodes.status();
  }
  if (report.begin >= report.end) return absl::InvalidArgumentError("-S must be before -E");
  report.watched = nodes->watched;
  Fleet fleet(std::move(nodes->nodes), report.begin, report.end);
  RETURN_IF_ERROR(ForEachRun(
      options, cluster, [&](const Report& one) { fleet.Add(one.timeline, one.account.goodput.program); }));
  report.count = fleet.Count(report.by == "partition");
  return report;
}

// What became of the time of nodes, by the same rules as in the fleet database.
absl::StatusOr<UtilizationReport> MakeUtilization(const RollupOptions& options, absl::Time now) {
  RETURN_IF_ERROR(Check(options));
  ASSIGN_OR_RETURN(const SelectedTime time, TimeOfSelection(options.select, now));
  ASSIGN_OR_RETURN(Session session, OpenAll(options, *time.start));
  ASSIGN_OR_RETURN(const std::string cluster, ClusterOf(options, session));
  NodeHolds holds;
  RETURN_IF_ERROR(ForEachRun(options, cluster, [&](const Report& one) { holds.Add(one.timeline); }));
  ASSIGN_OR_RETURN(const NodeDaysTime known, TimeOfNodeDays(session.db, cluster, holds, session.now));
  const Ns begin = std::max(*time.start, known.begin);
  const Ns end = std::min(time.end.value_or(known.end), known.end);
  const absl::StatusOr<std::vector<NodeDay>> days =
      LoadNodeDays(session.db, cluster, holds, known, begin, end);
  if (!days.ok()) return days.status();
  UtilizationReport report = UtilizationOf(*days, cluster, UseKeysOf(options));
  report.begin = *time.start;
  report.end = std::max(*time.start, end);
  return report;
}

int RunUtilization(const RollupOptions& options) {
  const absl::StatusOr<UtilizationReport> report = MakeUtilization(options, absl::Now());
  if (!report.ok()) return Fail(report.status());
  if (options.common.json) {
    std::fputs(UtilizationAsJson(*report).c_str(), stdout);
  } else {
    PrintUtilization(*report, {options.parsable2, options.csv, options.no_header});
  }
  return report->rows.empty() ? kNothingMatched : kAnswered;
}

GpuNs In(const FleetRow& row, NodeCondition condition) {
  return row.unheld[static_cast<std::size_t>(condition)];
}

// One number, or a range if the watch did not run for a while.
std::string Scheduling(const FleetRow& row) {
  const std::optional<Range> range = row.scheduling_range();
  if (!range || In(row, NodeCondition::kUnknown) == 0) return FormatPercent(row.scheduling());
  std::string low = FormatPercent(range->first);
  const std::string high = FormatPercent(range->second);
  if (low == high) return low;
  low.pop_back();
  return Cat(low, "-", high);
}

std::string Runtime(const FleetRow& row) {
  return FormatPercent(row.runtime(), row.runtime_range());
}

struct FleetColumn {
  Table::Column column;
  std::string (*cell)(const FleetRow&);
};

std::vector<FleetColumn> Columns() {
  constexpr auto kRight = Table::Align::kRight;
  return {
      {{"Partition", Table::Align::kLeft, 16}, [](const FleetRow& row) { return Printable(row.group); }},
      {{"Nodes", kRight}, [](const FleetRow& row) { return Cat(row.nodes); }},
      {{"GPUh", kRight}, [](const FleetRow& row) { return FormatGpuHours(row.capacity()); }},
      {{"Held", kRight}, [](const FleetRow& row) { return FormatGpuHours(row.held_sum()); }},
      {{"Idle", kRight}, [](const FleetRow& row) { return FormatGpuHours(In(row, NodeCondition::kIdle)); }},
      {{"Down", kRight}, [](const FleetRow& row) { return FormatGpuHours(In(row, NodeCondition::kDown)); }},
      {{"Drain", kRight},
       [](const FleetRow& row) { return FormatGpuHours(In(row, NodeCondition::kDrained)); }},
      {{"Unknown", kRight},
       [](const FleetRow& row) { return FormatGpuHours(In(row, NodeCondition::kUnknown)); }},
      {{"Sched", kRight}, [](const FleetRow& row) { return Scheduling(row); }},
      {{"Runtime", kRight}, [](const FleetRow& row) { return Runtime(row); }},
      {{"MPG", kRight}, [](const FleetRow& row) { return FormatPercent(row.mpg()); }},
  };
}

void PrintByPartition(const FleetReport& report, bool parsable, bool header) {
  const std::vector<FleetColumn> columns = Columns();
  std::vector<Table::Column> titles;
  std::vector<std::string> names;
  for (const FleetColumn& column : columns) {
    titles.push_back(column.column);
    names.push_back(column.column.title);
  }
  const auto cells = [&](const FleetRow& row) {
    std::vector<std::string> texts;
    texts.reserve(columns.size());
    for (const FleetColumn& column : columns) texts.push_back(column.cell(row));
    return texts;
  };
  if (parsable) {
    if (header) std::fputs(ParsableLine(names).c_str(), stdout);
    for (const FleetRow& row : report.count.rows) std::fputs(ParsableLine(cells(row)).c_str(), stdout);
    return;
  }
  Table table(std::move(titles));
  for (const FleetRow& row : report.count.rows) table.Add(cells(row));
  if (report.count.rows.size() > 1) table.Add(cells(report.count.total));
  std::fputs(table.Render(header).c_str(), stdout);
}

// Where all time went; held time by bucket.
void PrintWhole(const FleetReport& report) {
  const FleetRow& row = report.count.total;
  std::printf("Fleet of %s, %s to %s\n", Printable(report.cluster).c_str(), FormatTime(report.begin).c_str(),
              FormatTime(report.end).c_str());
  std::printf("%lld nodes, %s GPU-hours\n\n", static_cast<long long>(row.nodes),
              FormatGpuHours(row.capacity()).c_str());
  std::printf("Goodput  scheduling %s x runtime %s", Scheduling(row).c_str(), Runtime(row).c_str());
  if (row.program()) std::printf(" x program %s", FormatPercent(row.program()).c_str());
  if (row.mpg()) std::printf(" = %s", FormatPercent(row.mpg()).c_str());
  if (row.program() && !row.mpg())
    std::printf(" (program: known for %s of the productive time)", FormatPercent(row.rated_share()).c_str());
  std::printf("\n\nWhere the GPU-hours went\n");
  Table table({{"", Table::Align::kLeft}, {"", Table::Align::kRight}, {"", Table::Align::kRight}});
  const auto add = [&](std::string_view name, GpuNs gpu_ns) {
    if (gpu_ns == 0) return;
    const double share =
        static_cast<double>(gpu_ns) / static_cast<double>(std::max<GpuNs>(row.capacity(), 1));
    table.Add({std::string(name), FormatGpuHours(gpu_ns), FormatPercent(share)});
  };
  for (const Bucket bucket : AllBuckets())
    add(BucketName(bucket), row.held[static_cast<std::size_t>(bucket)]);
  for (int i = 0; i < kConditionCount; ++i) {
    const auto condition = static_cast<NodeCondition>(i);
    if (condition != NodeCondition::kOff) add(ConditionName(condition), In(row, condition));
  }
  std::fputs(table.Render(false, "  ").c_str(), stdout);
  if (In(row, NodeCondition::kOff) > 0)
    std::printf("  not counted: %s GPU-hours of nodes that were powered down\n",
                FormatGpuHours(In(row, NodeCondition::kOff)).c_str());
  if (report.count.unplaced > 0)
    std::printf("  not counted: %s GPU-hours held on nodes that goodputd did not know at that time\n",
                FormatGpuHours(report.count.unplaced).c_str());
}

}  // namespace

int RunFleet(const RollupOptions& options) {
  if (!UseKeysOf(options).empty()) return RunUtilization(options);
  const absl::StatusOr<FleetReport> report = MakeFleet(options, absl::Now());
  if (!report.ok()) return Fail(report.status());
  if (options.common.json) {
    std::fputs(FleetAsJson(*report).c_str(), stdout);
  } else if (options.parsable2 || report->by == "partition") {
    PrintByPartition(*report, options.parsable2, !options.no_header);
  } else {
    PrintWhole(*report);
  }
  return report->count.total.nodes == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
