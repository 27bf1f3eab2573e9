#include "tools/accounting/report/rollup_table.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/advise/network.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/gpu_use_report.h"
#include "tools/accounting/report/late_ranks.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

// How the begin of a window is shown: windows that begin at midnight are days; seconds are only shown if
// minutes are not unique.
std::function<std::string(const RollupRow&)> FromOf(const std::vector<RollupRow>& rows) {
  const auto minute = [](const RollupRow& r) { return FormatTime(r.begin).substr(0, 16); };
  const auto in_one_minute = [&](const RollupRow& a, const RollupRow& b) {
    return a.begin != b.begin && minute(a) == minute(b);
  };
  const auto at_midnight = [](const RollupRow& r) { return FormatTime(r.begin).substr(11) == "00:00:00"; };
  if (std::all_of(rows.begin(), rows.end(), at_midnight))
    return [](const RollupRow& row) { return FormatTime(row.begin).substr(0, 10); };
  const bool seconds = std::adjacent_find(rows.begin(), rows.end(), in_one_minute) != rows.end();
  return [seconds](const RollupRow& row) { return FormatTime(row.begin).substr(5, seconds ? 14 : 11); };
}

// The columns of a table or of parsable output. A terminal has room for either hours or their price.
struct RollupColumn {
  Table::Column column;
  std::function<std::string(const RollupRow&)> cell;
};

// Below a thousandth, only the power of ten matters.
std::string Chance(const std::optional<double>& chance) {
  if (!chance || *chance >= 0.001) return FormatPercent(chance);
  return absl::StrFormat("%.0e", *chance);
}

// Others waited for its ranks, or did if the clocks agree.
bool IsAwaited(const RollupRow& row) {
  return row.awaited() && row.awaited()->most_share() >= kLeastWait;
}

std::vector<RollupColumn> Columns(const RollupReport& report, bool all) {
  constexpr auto kRight = Table::Align::kRight;
  const auto of = [](const RollupRow& row, Bucket bucket) {
    return row.gpu_ns[static_cast<std::size_t>(bucket)];
  };
  std::vector<RollupColumn> columns;
  const auto add = [&](const std::string& title, std::function<std::string(const RollupRow&)> cell) {
    columns.push_back({{title, kRight}, std::move(cell)});
  };
  // A node has no program of its own.
  const bool program =
      (report.clusters || report.consumption) && (all || (report.total.program && !report.by_node()));
  if (report.windows) columns.push_back({{"From"}, FromOf(report.rows)});
  for (std::size_t i = 0; report.by != "all" && i < report.keys.size(); ++i) {
    std::string title = report.keys[i];
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    columns.push_back(
        {{Printable(title), Table::Align::kLeft, report.keys.size() == 1 && !program ? 24U : 12U},
         [i](const RollupRow& row) {
           const std::vector<std::string> parts = GroupParts(row.group);
           return i < parts.size() ? Printable(parts[i]) : std::string();
         }});
  }
  const bool hours = !report.gpu_hour || all;
  const bool unobserved = all || report.total.unobserved() > 0;
  const bool network =
      report.by_node() && (all || std::any_of(report.rows.begin(), report.rows.end(),
                                              [](const RollupRow& row) { return row.network.has_value(); }));
  const bool errors = report.by_node() &&
                      (all || std::any_of(report.rows.begin(), report.rows.end(), [](const RollupRow& row) {
                         return row.hardware_errors.value_or(0) > 0;
                       }));
  const bool awaited =
      report.by_node() && (all || std::any_of(report.rows.begin(), report.rows.end(), IsAwaited));
  // A terminal has no room for these, which are missed least; names of nodes are long.
  const bool of_nodes = report.by_node() && !all;
  const bool room = all || (!unobserved && !of_nodes && !program);
  const bool narrow = program && !all && (report.windows || report.gpu_hour || report.keys.size() > 1);
  // Rows of stockouts are waits, and of little else.
  const bool of_waits = report.waits && !report.consumption && !all;
  const bool crowded = narrow || (report.consumption && program && !all);
  if (room || (!report.windows && !of_nodes && !crowded))
    add("Runs", [](const RollupRow& row) { return Cat(row.runs); });
  add("Intr", [](const RollupRow& row) { return Cat(row.interruptions); });
  if (hours && room) add("GPUh", [](const RollupRow& row) { return FormatGpuHours(row.wanted()); });
  if (!of_waits) add("Alloc", [](const RollupRow& row) { return FormatGpuHours(row.allocated()); });
  if (hours && !of_waits && !(of_nodes && unobserved && (network || errors || awaited)) && (all || !program))
    add("Progress", [=](const RollupRow& row) { return FormatGpuHours(of(row, Bucket::kProductive)); });
  if (report.waits && hours) add("Waited", [](const RollupRow& row) { return FormatGpuHours(row.waited()); });
  if (report.waits && (all || !report.consumption))
    add("Wait", [](const RollupRow& row) { return FormatDuration(row.waited_ns()); });
  if (hours && !of_nodes && !narrow && (all || !report.waits))
    add("Lost", [=](const RollupRow& row) { return FormatGpuHours(of(row, Bucket::kLostWork)); });
  if (!of_nodes && !(narrow && report.gpu_hour)) {
    add("Sched",
        [](const RollupRow& row) { return FormatPercent(row.scheduling(), row.scheduling_range()); });
    add("Runtime", [](const RollupRow& row) { return FormatPercent(row.runtime(), row.runtime_range()); });
  }
  add("Goodput", [](const RollupRow& row) { return FormatPercent(row.sg_rg(), row.sg_rg_range()); });
  if (program) {
    add("Program", [](const RollupRow& row) { return FormatPercent(row.program); });
    add("MPG", [](const RollupRow& row) { return FormatPercent(row.mpg); });
  }
  if (hours && unobserved && (all || !program))
    add("Unobserved", [](const RollupRow& row) { return FormatGpuHours(row.unobserved()); });
  if (report.consumption && all) {
    add("Evidence", [](const RollupRow& row) {
      std::vector<std::string> said;
      for (const auto& [evidence, time] : row.told_by) said.push_back(evidence);
      return absl::StrJoin(said, ",");
    });
  }
  if (all && report.total.gpu_use.measured > 0) {
    add("Measured", [](const RollupRow& row) { return FormatGpuHours(row.gpu_use.measured); });
    add("Busy", [](const RollupRow& row) { return FormatPercent(BusyShare(row.gpu_use)); });
    add("Tensor", [](const RollupRow& row) { return FormatPercent(TensorShare(row.gpu_use)); });
    add("EnergyJ", [](const RollupRow& row) {
      const std::optional<double> joules = EnergyJ(row.gpu_use);
      return joules ? absl::StrFormat("%.0f", *joules) : std::string("-");
    });
  }
  if (report.by_node()) add("Chance", [](const RollupRow& row) { return Chance(row.chance); });
  if (awaited) {
    add("Awaited", [](const RollupRow& row) {
      return row.awaited() ? FormatGpuHours(row.awaited()->time.wait) : std::string("-");
    });
  }
  if (errors) {
    add("HWErrors", [](const RollupRow& row) {
      return row.hardware_errors ? Cat(*row.hardware_errors) : std::string("-");
    });
  }
  if (network) {
    add("Busbw", [](const RollupRow& row) {
      return row.network ? absl::StrFormat("%.1f", static_cast<double>(row.network->busbw) / 1e9) : "-";
    });
  }
  if (!report.gpu_hour) return columns;
  const double price = *report.gpu_hour;
  const auto money = [price](GpuNs gpu_ns) { return absl::StrFormat("%.2f", GpuHours(gpu_ns) * price); };
  add("Cost", [=](const RollupRow& row) { return money(row.allocated()); });
  add("Wasted", [=](const RollupRow& row) { return money(row.wasted()); });
  if (unobserved || report.total.maybe_wasted() > 0)
    add("Maybe", [=](const RollupRow& row) { return money(row.maybe_wasted()); });
  return columns;
}

std::vector<std::string> Cells(const std::vector<RollupColumn>& columns, const RollupRow& row) {
  std::vector<std::string> cells;
  cells.reserve(columns.size());
  for (const RollupColumn& column : columns) cells.push_back(column.cell(row));
  return cells;
}

std::vector<std::string> Titles(const std::vector<RollupColumn>& columns) {
  std::vector<std::string> titles;
  titles.reserve(columns.size());
  for (const RollupColumn& column : columns) titles.push_back(column.column.title);
  return titles;
}

absl::StatusOr<std::vector<std::vector<std::string>>> SortedRows(const RollupReport& report,
                                                                 const std::vector<RollupColumn>& columns,
                                                                 const std::string& sort) {
  std::vector<std::vector<std::string>> rows;
  for (const RollupRow& row : report.rows) rows.push_back(Cells(columns, row));
  RETURN_IF_ERROR(SortRows(sort, Titles(columns), rows));
  return rows;
}

void PrintSlowNodes(const RollupReport& report) {
  std::vector<std::string> slow;
  for (const RollupRow& row : report.rows) {
    if (row.network && IsSlow(row.network->bytes, row.network->busbw, report.busbw))
      slow.push_back(Printable(row.group));
  }
  if (slow.empty()) return;
  std::fputs(Wrap(Cat("Busbw is below ", absl::StrFormat("%g", report.busbw),
                      " GB/s (busbw in goodput.conf): ", absl::StrJoin(slow, ", ")),
                  "")
                 .c_str(),
             stdout);
}

// The nodes that others waited for most, before the table.
void PrintAwaitedNodes(const RollupReport& report) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<const RollupRow*> nodes;
  for (const RollupRow& row : report.rows) {
    if (IsAwaited(row)) nodes.push_back(&row);
  }
  if (!report.by_node() || nodes.empty()) return;
  std::stable_sort(nodes.begin(), nodes.end(), [](const RollupRow* a, const RollupRow* b) {
    return std::pair(a->awaited()->share(), a->awaited()->most_share()) >
           std::pair(b->awaited()->share(), b->awaited()->most_share());
  });
  std::vector<std::string> named;
  for (const RollupRow* node : nodes) {
    if (named.size() == kMostNamed) {
      named.push_back(Cat(nodes.size() - kMostNamed, " more"));
      break;
    }
    const NodeWait& wait = *node->awaited();
    const std::string share = FormatPercent(wait.share());
    const std::string most = wait.time.most > wait.time.wait ? Cat(", or ", FormatPercent(wait.most_share()),
                                                                   " if the clocks of the nodes agree")
                                                             : std::string();
    named.push_back(Cat(node->group == "-" ? "unknown nodes" : Printable(node->group), " (", share,
                        " of the productive time of its runs", most, ")"));
  }
  std::fputs(Wrap(Cat("Others waited for ranks to begin a step: ", absl::StrJoin(named, ", ")), "").c_str(),
             stdout);
}

// A terminal has no room for these columns; -P has them for each row.
void PrintGpuUse(const RollupReport& report) {
  const GpuUseSum& use = report.total.gpu_use;
  if (use.measured == 0) return;
  const auto tensor = TensorShare(use);
  const auto energy = EnergyJ(use);
  std::fputs(
      Wrap(Cat("GPUs were busy for ", FormatPercent(BusyShare(use)), " of ", FormatGpuHours(use.measured),
               " measured GPU-hours, ", FormatPercent(BusyShare(report.total.productive_gpu_use)),
               " of productive ones", tensor ? Cat("; tensor cores active for ", FormatPercent(tensor)) : "",
               energy ? Cat("; ", FormatEnergy(*energy)) : ""),
           "")
          .c_str(),
      stdout);
}

void PrintToldBy(const RollupReport& report) {
  GpuNs all = 0;
  for (const auto& [evidence, time] : report.total.told_by) all += time;
  if (!report.consumption || all == 0) return;
  std::vector<std::string> parts;
  for (const auto& [evidence, time] : report.total.told_by) {
    const std::string share = FormatPercent(static_cast<double>(time) / static_cast<double>(all));
    parts.push_back(evidence == "-" ? Cat("unknown ", share) : Cat(evidence, " ", share));
  }
  std::fputs(Wrap(Cat("How machines were obtained, by what says so: ", absl::StrJoin(parts, ", "),
                      " of the allocated GPU-hours"),
                  "")
                 .c_str(),
             stdout);
}

absl::StatusOr<Table> TableOf(const RollupReport& report, const RollupPrinting& options,
                              const std::vector<RollupColumn>& columns) {
  ASSIGN_OR_RETURN(std::vector<std::vector<std::string>> rows, SortedRows(report, columns, options.sort));
  std::vector<Table::Column> shown;
  shown.reserve(columns.size());
  for (const RollupColumn& column : columns) shown.push_back(column.column);
  Table table(std::move(shown));
  for (std::vector<std::string>& row : rows) table.Add(std::move(row));
  std::vector<std::string> total = Cells(columns, report.total);
  if (report.windows || report.by != "all") total.front() = "total";
  if (report.rows.size() > 1) table.Add(std::move(total));
  return table;
}

bool SortsBy(const std::string& sort, const std::string& title) {
  for (absl::string_view word : absl::StrSplit(sort, ',')) {
    absl::ConsumePrefix(&word, "-");
    if (absl::EqualsIgnoreCase(word, title)) return true;
  }
  return false;
}

// Large numbers make lines too long. Removes the column that is missed least; false: there is none.
bool RemoveColumn(const std::string& sort, std::vector<RollupColumn>& columns) {
  for (const std::string_view title : {"Maybe", "Runs", "Lost", "Unobserved", "Progress", "GPUh", "Intr",
                                       "Runtime", "Sched", "Alloc", "Program"}) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const RollupColumn& one) { return one.column.title == title; });
    if (found == columns.end() || SortsBy(sort, found->column.title)) continue;
    columns.erase(found);
    return true;
  }
  return false;
}

absl::Status PrintTable(const RollupReport& report, const RollupPrinting& options) {
  constexpr std::size_t kTerminal = 80;
  std::vector<RollupColumn> columns = Columns(report, false);
  absl::StatusOr<Table> table = TableOf(report, options, columns);
  while (table.ok() && table->LineWidth(!options.no_header) > kTerminal &&
         RemoveColumn(options.sort, columns))
    table = TableOf(report, options, columns);
  RETURN_IF_ERROR(table.status());
  PrintAwaitedNodes(report);
  std::fputs(table->Render(!options.no_header).c_str(), stdout);
  PrintSlowNodes(report);
  PrintToldBy(report);
  PrintGpuUse(report);
  return absl::OkStatus();
}

absl::Status PrintForScripts(const RollupReport& report, const RollupPrinting& options) {
  const std::vector<RollupColumn> columns = Columns(report, true);
  ASSIGN_OR_RETURN(std::vector<std::vector<std::string>> rows, SortedRows(report, columns, options.sort));
  if (!options.no_header) rows.insert(rows.begin(), Titles(columns));
  for (const std::vector<std::string>& cells : rows)
    std::fputs((options.csv ? CsvLine(cells) : ParsableLine(cells)).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintRollup(const RollupReport& report, const RollupPrinting& options) {
  return options.parsable2 || options.csv ? PrintForScripts(report, options) : PrintTable(report, options);
}

}  // namespace goodput
