#include "tools/sources/fleet_database/utilization_question.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/node_day_rows.h"
#include "tools/sources/fleet_database/question_sql.h"
#include "tools/sources/fleet_database/sums.h"

namespace goodput {
namespace {

absl::StatusOr<std::string> UseKey(const std::string& key) {
  static const std::map<std::string, std::string> keys{{"all", "'all'"},
                                                       {"cluster", "d.cluster"},
                                                       {"node", "d.node"},
                                                       {"day", "d.day::text"},
                                                       {"month", "to_char(d.month, 'YYYY-MM')"}};
  const auto found = keys.find(key);
  if (found == keys.end())
    return absl::InvalidArgumentError(
        Cat("--by: with --fleet, use cluster, node, day, month or all, not '", key, "'"));
  return found->second;
}

std::string DateAt(Ns midnight) {
  return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + UtcDay(midnight));
}

UtilizationRow RowOfResult(const FleetResult& result, int row, int keys) {
  UtilizationRow sums;
  for (int key = 0; key < keys; ++key) sums.groups.emplace_back(result.Text(row, key));
  sums.nodes = result.Int(row, keys);
  for (int use = 0; use < kNodeUseCount; ++use) {
    const auto i = static_cast<std::size_t>(use);
    sums.ns[i] = WholeOf(result.Text(row, keys + 1 + use));
    sums.gpu_ns[i] = WholeOf(result.Text(row, keys + 1 + kNodeUseCount + use));
  }
  return sums;
}

}  // namespace

absl::StatusOr<UtilizationReport> AskUtilization(FleetConnection& connection,
                                                 const UtilizationQuestion& question) {
  const Ns begin = UtcDay(question.begin) * kUtcDay;
  const Ns end = (UtcDay(question.end - 1) + 1) * kUtcDay;
  std::vector<std::string> groups;
  for (const std::string& key : question.by) {
    ASSIGN_OR_RETURN(std::string group, UseKey(key));
    groups.push_back(std::move(group));
  }
  FleetSql sql;
  sql.Where(Cat("d.day >= ", sql.Value(DateAt(begin)), "::date"));
  sql.Where(Cat("d.day < ", sql.Value(DateAt(end)), "::date"));
  if (!question.clusters.empty()) sql.Where(Cat("d.cluster = ", sql.Values(question.clusters)));
  if (!question.nodes.empty()) sql.Where(Cat("d.node = ", sql.Values(question.nodes)));
  std::string sums = "count(DISTINCT (d.cluster, d.node))";
  for (const std::string& column : NodeUseColumns()) sums += Cat(", coalesce(sum(d.", column, "), 0)");
  RETURN_IF_ERROR(connection.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  const std::string all = absl::StrJoin(groups, ", ");
  std::vector<std::string> positions;
  for (std::size_t i = 1; i <= groups.size(); ++i) positions.push_back(std::to_string(i));
  const std::string by = absl::StrJoin(positions, ", ");
  ASSIGN_OR_RETURN(const FleetResult rows,
                   connection.Query(Cat("SELECT ", all, ", ", sums, " FROM node_day d", sql.conditions(),
                                        " GROUP BY ", by),
                                    sql.values()));
  ASSIGN_OR_RETURN(
      const FleetResult total,
      connection.Query(Cat("SELECT ", sums, " FROM node_day d", sql.conditions()), sql.values()));
  ASSIGN_OR_RETURN(std::vector<FleetClusterTime> clusters, TimesOfClusters(connection));
  RETURN_IF_ERROR(connection.Execute("COMMIT"));
  UtilizationReport report;
  report.keys = question.by;
  report.begin = begin;
  report.end = end;
  report.clusters = std::move(clusters);
  const int keys = static_cast<int>(groups.size());
  for (int row = 0; row < rows.rows(); ++row) report.rows.push_back(RowOfResult(rows, row, keys));
  // A server may sort names in another way.
  std::sort(report.rows.begin(), report.rows.end(),
            [](const UtilizationRow& a, const UtilizationRow& b) { return a.groups < b.groups; });
  report.total = RowOfResult(total, 0, 0);
  report.total.groups.assign(groups.size(), "");
  report.total.groups.front() = "total";
  return report;
}

}  // namespace goodput
