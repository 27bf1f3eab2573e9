#include "tools/accounting/report/utilization.h"

#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

using UseSums = std::array<GpuNs, kNodeUseCount>;

GpuNs In(const UseSums& sums, NodeUse use) {
  return sums[static_cast<std::size_t>(use)];
}

// A machine that was powered down is no capacity.
GpuNs Reported(const UseSums& sums) {
  GpuNs sum = 0;
  for (const GpuNs one : sums) sum += one;
  return sum - In(sums, NodeUse::kOff);
}

std::string GroupOfDay(const NodeDay& day, const std::string& cluster, const std::string& key) {
  if (key == "cluster") return cluster;
  if (key == "node") return day.node;
  std::string date = absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + day.day);
  if (key == "day") return date;
  return key == "month" ? date.substr(0, 7) : "all";
}

// Nodes without GPUs, or whose GPUs are not known.
bool ShowsGpus(const UtilizationReport& report) {
  return report.total.reported_gpu_ns() + In(report.total.gpu_ns, NodeUse::kOff) > 0;
}

std::string TitleOf(const std::string& key) {
  std::string title = key;
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return title;
}

struct UseColumn {
  const char* title;
  NodeUse use;
};
constexpr std::array<UseColumn, 6> kShown{{{"Alloc", NodeUse::kAllocated},
                                           {"Idle", NodeUse::kIdle},
                                           {"Down", NodeUse::kDown},
                                           {"Drain", NodeUse::kDrained},
                                           {"Compl", NodeUse::kCompleting},
                                           {"Unknown", NodeUse::kUnknown}}};

void PrintUtilizationTable(const UtilizationReport& report, bool header) {
  constexpr auto kRight = Table::Align::kRight;
  const bool gpus = ShowsGpus(report);
  std::vector<Table::Column> columns;
  for (const std::string& key : report.keys) columns.push_back({TitleOf(key), Table::Align::kLeft, 16});
  columns.push_back({"Nodes", kRight});
  columns.push_back({gpus ? "GPUh" : "Nodeh", kRight});
  for (const UseColumn& shown : kShown) columns.push_back({shown.title, kRight});
  columns.push_back({"Alloc%", kRight});
  Table table(std::move(columns));
  const auto add = [&](const UtilizationRow& row) {
    const UseSums& sums = gpus ? row.gpu_ns : row.ns;
    std::vector<std::string> cells;
    for (const std::string& group : row.groups) cells.push_back(Printable(group));
    cells.push_back(Cat(row.nodes));
    cells.push_back(FormatGpuHours(Reported(sums)));
    for (const UseColumn& shown : kShown) cells.push_back(FormatGpuHours(In(sums, shown.use)));
    cells.push_back(FormatPercent(row.allocated()));
    table.Add(std::move(cells));
  };
  for (const UtilizationRow& row : report.rows) add(row);
  if (report.rows.size() > 1) add(report.total);
  std::fputs(table.Render(header).c_str(), stdout);
  const GpuNs off = In(gpus ? report.total.gpu_ns : report.total.ns, NodeUse::kOff);
  if (off > 0)
    std::printf("Not counted: %s %s-hours of nodes that were powered down\n", FormatGpuHours(off).c_str(),
                gpus ? "GPU" : "node");
}

// Of nodes and of GPUs.
std::vector<std::string> ScriptCells(const UtilizationRow& row) {
  std::vector<std::string> cells = row.groups;
  cells.push_back(Cat(row.nodes));
  const auto hours = [](GpuNs ns) { return absl::StrFormat("%.6f", GpuHours(ns)); };
  for (const UseSums* sums : {&row.ns, &row.gpu_ns}) {
    cells.push_back(hours(Reported(*sums)));
    for (const GpuNs ns : *sums) cells.push_back(hours(ns));
  }
  return cells;
}

std::vector<std::string> ScriptTitles(const UtilizationReport& report) {
  std::vector<std::string> titles;
  for (const std::string& key : report.keys) titles.push_back(TitleOf(key));
  titles.emplace_back("Nodes");
  for (const char* kind : {"NodeHours", "GPUHours"}) {
    titles.push_back(Cat("Reported", kind));
    for (int use = 0; use < kNodeUseCount; ++use)
      titles.push_back(Cat(TitleOf(std::string(NodeUseName(static_cast<NodeUse>(use)))), kind));
  }
  return titles;
}

// A sum over many nodes has more than 64 bits, which JSON allows.
std::string Digits(GpuNs value) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string UsesAsJson(const UseSums& sums) {
  std::vector<std::string> fields;
  for (int use = 0; use < kNodeUseCount; ++use) {
    const auto which = static_cast<NodeUse>(use);
    fields.push_back(Cat(QuotedJson(std::string(NodeUseName(which))), ": ", Digits(In(sums, which))));
  }
  return Cat("{", absl::StrJoin(fields, ", "), "}");
}

std::string UtilizationRowAsJson(const UtilizationRow& row) {
  std::vector<std::string> groups;
  for (const std::string& group : row.groups) groups.push_back(QuotedJson(group));
  const std::optional<double> share = row.allocated();
  return Cat("{\"groups\": [", absl::StrJoin(groups, ", "), "], \"nodes\": ", row.nodes,
             ", \"allocated_share\": ", share ? absl::StrFormat("%.17g", *share) : "null",
             ",\n     \"node_ns\": ", UsesAsJson(row.ns), ",\n     \"gpu_ns\": ", UsesAsJson(row.gpu_ns),
             "}");
}

}  // namespace

GpuNs UtilizationRow::reported_ns() const {
  return Reported(ns);
}

GpuNs UtilizationRow::reported_gpu_ns() const {
  return Reported(gpu_ns);
}

std::optional<double> UtilizationRow::allocated() const {
  const UseSums& sums = reported_gpu_ns() > 0 ? gpu_ns : ns;
  const GpuNs known = Reported(sums) - In(sums, NodeUse::kUnknown);
  if (known == 0) return std::nullopt;
  return static_cast<double>(In(sums, NodeUse::kAllocated)) / static_cast<double>(known);
}

UtilizationReport UtilizationOf(const std::vector<NodeDay>& days, const std::string& cluster,
                                std::vector<std::string> keys) {
  UtilizationReport report;
  report.keys = std::move(keys);
  report.total.groups.assign(report.keys.size(), "");
  report.total.groups.front() = "total";
  std::map<std::vector<std::string>, UtilizationRow> rows;
  std::map<std::vector<std::string>, std::set<std::string>> nodes;
  std::set<std::string> all_nodes;
  for (const NodeDay& day : days) {
    std::vector<std::string> groups;
    for (const std::string& key : report.keys) groups.push_back(GroupOfDay(day, cluster, key));
    nodes[groups].insert(day.node);
    all_nodes.insert(day.node);
    UtilizationRow& row = rows[groups];
    for (std::size_t i = 0; i < row.ns.size(); ++i) {
      row.ns[i] += day.time.ns[i];
      row.gpu_ns[i] += day.time.gpu_ns[i];
      report.total.ns[i] += day.time.ns[i];
      report.total.gpu_ns[i] += day.time.gpu_ns[i];
    }
  }
  for (auto& [groups, row] : rows) {
    row.groups = groups;
    row.nodes = static_cast<std::int64_t>(nodes[groups].size());
    report.rows.push_back(std::move(row));
  }
  report.total.nodes = static_cast<std::int64_t>(all_nodes.size());
  return report;
}

void PrintUtilization(const UtilizationReport& report, const UtilizationFormat& format) {
  if (!format.csv && !format.parsable2) {
    PrintUtilizationTable(report, !format.no_header);
    return;
  }
  std::vector<std::vector<std::string>> lines;
  if (!format.no_header) lines.push_back(ScriptTitles(report));
  for (const UtilizationRow& row : report.rows) lines.push_back(ScriptCells(row));
  for (const std::vector<std::string>& cells : lines)
    std::fputs((format.csv ? CsvLine(cells) : ParsableLine(cells)).c_str(), stdout);
}

std::string UtilizationAsJson(const UtilizationReport& report) {
  std::vector<std::string> rows;
  for (const UtilizationRow& row : report.rows) rows.push_back(Cat("    ", UtilizationRowAsJson(row)));
  std::string json = Cat("{\n  \"schema\": \"slurm-goodput-utilization/1\",\n  \"by\": ",
                         QuotedJson(absl::StrJoin(report.keys, ",")), ",\n  \"begin_ns\": ", report.begin,
                         ",\n  \"end_ns\": ", report.end, ",\n  \"rows\": [\n", absl::StrJoin(rows, ",\n"),
                         "\n  ],\n  \"total\": ", UtilizationRowAsJson(report.total));
  if (report.clusters) {
    std::vector<std::string> clusters;
    for (const FleetClusterTime& of : *report.clusters)
      clusters.push_back(Cat("{\"cluster\": ", QuotedJson(of.cluster),
                             ", \"as_of_ns\": ", of.as_of ? std::to_string(*of.as_of) : "null", "}"));
    json += Cat(",\n  \"clusters\": [", absl::StrJoin(clusters, ", "), "]");
  }
  return json + "\n}\n";
}

}  // namespace goodput
