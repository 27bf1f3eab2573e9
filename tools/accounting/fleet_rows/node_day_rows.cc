#include "tools/accounting/fleet_rows/node_day_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/copy_line.h"

namespace goodput {
namespace {

// A node with so many GPUs that a day of them is no bigint does not exist: then they are not known.
bool Fits(const NodeDay& day) {
  constexpr GpuNs kMost = std::numeric_limits<std::int64_t>::max();
  return std::all_of(day.time.gpu_ns.begin(), day.time.gpu_ns.end(),
                     [](GpuNs gpu_ns) { return gpu_ns <= kMost; });
}

std::string NodeDayLine(const NodeDay& day, const std::string& cluster, std::int64_t shard) {
  CopyLine line;
  line.Int(shard).Text(cluster).Text(day.node).Date(day.day).Date(MonthOf(day.day));
  const bool known = day.gpus && Fits(day);
  line.Maybe(known ? day.gpus : std::nullopt);
  for (const Ns ns : day.time.ns) line.IntOrNull(ns);
  for (const GpuNs gpu_ns : day.time.gpu_ns) line.IntOrNull(known ? static_cast<std::int64_t>(gpu_ns) : 0);
  return std::move(line).Take();
}

}  // namespace

std::vector<std::string> NodeUseColumns() {
  std::vector<std::string> columns;
  for (const char* kind : {"n_", "g_"}) {
    for (int use = 0; use < kNodeUseCount; ++use)
      columns.push_back(Cat(kind, NodeUseName(static_cast<NodeUse>(use))));
  }
  return columns;
}

const std::vector<std::string>& ClusterDayColumns() {
  static const std::vector<std::string> columns{"shard", "cluster", "day", "month", "nodes", "digest"};
  return columns;
}

const std::vector<std::string>& NodeDayColumns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> all{"shard", "cluster", "node", "day", "month", "gpus"};
    for (std::string& column : NodeUseColumns()) all.push_back(std::move(column));
    return all;
  }();
  return columns;
}

std::vector<NodeDayRows> RowsOfNodeDays(const std::vector<NodeDay>& days, const std::string& cluster) {
  std::map<std::int64_t, NodeDayRows> by_day;
  std::set<std::pair<std::int64_t, std::string>> seen;
  for (const NodeDay& day : days) {
    // A day before 1970 is that of a wrong clock.
    if (day.day < 0 || !seen.insert({day.day, FleetText(day.node)}).second) continue;
    NodeDayRows& rows = by_day[day.day];
    for (int use = 0; use < kNodeUseCount; ++use) {
      const bool some = day.time.ns[static_cast<std::size_t>(use)] > 0;
      rows.known = rows.known || (some && static_cast<NodeUse>(use) != NodeUse::kUnknown);
    }
    rows.lines.push_back(NodeDayLine(day, cluster, ShardOf(cluster, Cat("nodes of ", day.day))));
  }
  std::vector<NodeDayRows> all;
  for (auto& [day, rows] : by_day) {
    rows.day = day;
    std::sort(rows.lines.begin(), rows.lines.end());
    rows.digest = DigestOf(absl::StrJoin(rows.lines, "\n"));
    CopyLine line;
    line.Int(ShardOf(cluster, Cat("nodes of ", day))).Text(cluster).Date(day).Date(MonthOf(day));
    line.Int(static_cast<std::int64_t>(rows.lines.size())).Text(rows.digest);
    rows.day_line = std::move(line).Take();
    all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace goodput
