// `sgoodput report`: sums over the selected runs, by group and by time window.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/advise/network.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/rollup_report.h"
#include "tools/base/format.h"
#include "tools/base/hostlist.h"
#include "tools/base/parse_duration.h"
#include "tools/base/viewer.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report_fleet.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/selection.h"

namespace goodput {
namespace {

// More rows than can be read; guards against --window=1s over a year.
constexpr std::int64_t kMostWindows = 100'000;
constexpr std::int64_t kMostWindowsOfOthers = 2000;
// A node is suspected if so many failures are so unlikely by chance, whichever node they strike.
constexpr double kSuspicion = 0.01;

struct Question {
  std::vector<RollupKey> keys;
  std::vector<Ns> edges;

  bool Asks(RollupBy by) const {
    return std::any_of(keys.begin(), keys.end(), [&](const RollupKey& key) { return key.by == by; });
  }
};

absl::StatusOr<RollupKey> ReadKey(absl::string_view word, const std::string& all) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
  const std::optional<RollupBy> known = RollupByName(parts.first);
  if (!known || (*known == RollupBy::kTag) == parts.second.empty()) {
    return absl::InvalidArgumentError(Cat("--by: unknown group '", all,
                                          "'; use user, account, partition, reservation, run, node, day, "
                                          "cause, all, tag:KEY, or two of them: user,account"));
  }
  return RollupKey{*known, parts.second};
}

std::string ByOf(const RollupOptions& options) {
  if (!options.by.empty()) return options.by;
  return options.window.empty() ? "user" : "all";
}

absl::StatusOr<Question> Read(const RollupOptions& options, absl::Time now) {
  Question question;
  const std::vector<std::string> words = absl::StrSplit(ByOf(options), absl::MaxSplits(',', 1));
  for (const std::string& word : words) {
    absl::StatusOr<RollupKey> key = ReadKey(word, options.by);
    if (!key.ok()) return key.status();
    question.keys.push_back(*std::move(key));
  }
  if (words.size() > 1 && (question.Asks(RollupBy::kNode) || question.Asks(RollupBy::kAll)))
    return absl::InvalidArgumentError("--by: node and all cannot be combined with another group");
  if (options.price && (!std::isfinite(*options.price) || *options.price < 0))
    return absl::InvalidArgumentError("--gpu-hour: the price must be 0 or more");
  if (options.window.empty()) return question;
  const absl::StatusOr<double> seconds = ParseDurationOption(options.window);
  if (!seconds.ok()) return Annotate(seconds.status(), "--window");
  ASSIGN_OR_RETURN(const SelectedTime time, TimeOfSelection(options.select, now));
  if (!time.start) return absl::InvalidArgumentError("--window requires -S");
  // Queries of others share the machine with the controller.
  const std::int64_t most_windows =
      std::getenv(kViewerVariable) != nullptr ? kMostWindowsOfOthers : kMostWindows;
  const Ns end = time.end.value_or(absl::ToUnixNanos(now));
  const auto step = static_cast<Ns>(std::llround(*seconds * 1e9));
  if (step <= 0 || (end - *time.start) / step >= most_windows) {
    return absl::InvalidArgumentError(Cat("--window: ", options.window, " gives more than ", most_windows,
                                          " windows between -S and -E; use a longer one"));
  }
  question.edges = WindowEdges(*time.start, end, step);
  // The last window ends with the selected time.
  question.edges.back() = end;
  if (question.edges.size() < 2) return absl::InvalidArgumentError("--window: -S must be before -E");
  return question;
}

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

std::vector<RollupColumn> Columns(const RollupReport& report, bool all) {
  constexpr auto kRight = Table::Align::kRight;
  const auto of = [](const RollupRow& row, Bucket bucket) {
    return row.gpu_ns[static_cast<std::size_t>(bucket)];
  };
  std::vector<RollupColumn> columns;
  const auto add = [&](const std::string& title, std::function<std::string(const RollupRow&)> cell) {
    columns.push_back({{title, kRight}, std::move(cell)});
  };
  if (report.windows) columns.push_back({{"From"}, FromOf(report.rows)});
  for (std::size_t i = 0; report.by != "all" && i < report.keys.size(); ++i) {
    std::string title = report.keys[i];
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    columns.push_back({{Printable(title), Table::Align::kLeft, report.keys.size() == 1 ? 24U : 12U},
                       [i](const RollupRow& row) {
                         const std::vector<std::string> parts = GroupParts(row.group);
                         return i < parts.size() ? Printable(parts[i]) : std::string();
                       }});
  }
  const bool hours = !report.gpu_hour || all;
  const bool unobserved = all || report.total.unobserved() > 0;
  const bool network = report.by == "node" &&
                       (all || std::any_of(report.rows.begin(), report.rows.end(),
                                           [](const RollupRow& row) { return row.network.has_value(); }));
  // A terminal has no room for these, which are missed least; names of nodes are long.
  const bool of_nodes = report.by == "node" && !all;
  const bool room = all || (!unobserved && !of_nodes);
  if (room || (!report.windows && !of_nodes)) add("Runs", [](const RollupRow& row) { return Cat(row.runs); });
  add("Intr", [](const RollupRow& row) { return Cat(row.interruptions); });
  if (hours && room) add("GPUh", [](const RollupRow& row) { return FormatGpuHours(row.wanted()); });
  add("Alloc", [](const RollupRow& row) { return FormatGpuHours(row.allocated()); });
  if (hours && !(of_nodes && unobserved && network))
    add("Progress", [=](const RollupRow& row) { return FormatGpuHours(of(row, Bucket::kProductive)); });
  if (hours && !of_nodes)
    add("Lost", [=](const RollupRow& row) { return FormatGpuHours(of(row, Bucket::kLostWork)); });
  if (!of_nodes) {
    add("Sched",
        [](const RollupRow& row) { return FormatPercent(row.scheduling(), row.scheduling_range()); });
    add("Runtime", [](const RollupRow& row) { return FormatPercent(row.runtime(), row.runtime_range()); });
  }
  add("Goodput", [](const RollupRow& row) { return FormatPercent(row.sg_rg(), row.sg_rg_range()); });
  if (hours && unobserved)
    add("Unobserved", [](const RollupRow& row) { return FormatGpuHours(row.unobserved()); });
  if (report.by == "node") add("Chance", [](const RollupRow& row) { return Chance(row.chance); });
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

void KeepSuspects(RollupReport& report) {
  report.rows.erase(
      std::remove_if(report.rows.begin(), report.rows.end(),
                     [](const RollupRow& row) { return !row.chance || *row.chance >= kSuspicion; }),
      report.rows.end());
}

// What a person may do about the nodes.
void PrintSuspects(const RollupReport& report) {
  if (report.rows.empty()) {
    std::printf("No node fails more often than by chance.\n");
    return;
  }
  std::vector<std::string> names;
  for (const RollupRow& row : report.rows) names.push_back(Printable(row.group));
  const std::string list = CompressHostList(names);
  std::printf(
      "%s\n\nTo keep a job from them, or all jobs:\n  sbatch --exclude=%s ...\n  scontrol update NodeName=%s "
      "State=DRAIN Reason=\"fails more often than by chance\"\n\n",
      list.c_str(), list.c_str(), list.c_str());
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

absl::Status PrintTable(const RollupReport& report, const RollupOptions& options) {
  if (options.suspects) PrintSuspects(report);
  if (options.suspects && report.rows.empty()) return absl::OkStatus();
  const std::vector<RollupColumn> columns = Columns(report, false);
  ASSIGN_OR_RETURN(std::vector<std::vector<std::string>> rows, SortedRows(report, columns, options.sort));
  std::vector<Table::Column> shown;
  shown.reserve(columns.size());
  for (const RollupColumn& column : columns) shown.push_back(column.column);
  Table table(std::move(shown));
  for (std::vector<std::string>& row : rows) table.Add(std::move(row));
  std::vector<std::string> total = Cells(columns, report.total);
  if (report.windows || report.by != "all") total.front() = "total";
  if (report.rows.size() > 1) table.Add(std::move(total));
  std::fputs(table.Render(!options.no_header).c_str(), stdout);
  PrintSlowNodes(report);
  return absl::OkStatus();
}

absl::Status PrintForScripts(const RollupReport& report, const RollupOptions& options) {
  const std::vector<RollupColumn> columns = Columns(report, true);
  ASSIGN_OR_RETURN(std::vector<std::vector<std::string>> rows, SortedRows(report, columns, options.sort));
  if (!options.no_header) rows.insert(rows.begin(), Titles(columns));
  for (std::vector<std::string>& cells : rows) {
    if (options.csv) {
      std::fputs(CsvLine(cells).c_str(), stdout);
      continue;
    }
    for (std::string& cell : cells) std::replace(cell.begin(), cell.end(), '|', '?');
    std::printf("%s\n", absl::StrJoin(cells, "|").c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int RunRollup(const RollupOptions& options) {
  if (options.csv && options.parsable2)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with -P"));
  if (!options.sort.empty() && (options.common.json || options.fleet))
    return Fail(absl::InvalidArgumentError("--sort cannot be used with --json or --fleet"));
  if (options.csv && options.fleet)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with --fleet; use -P"));
  if (options.suspects && (options.by != "node" || options.fleet || !options.window.empty()))
    return Fail(absl::InvalidArgumentError("--suspects requires --by node, without --window and --fleet"));
  if (options.fleet) return RunFleet(options);
  const absl::StatusOr<Question> question = Read(options, absl::Now());
  if (!question.ok()) return Fail(question.status());
  Rollup rollup(question->keys, question->edges);
  RollupReport report;
  std::int64_t runs = 0;
  NodeFeatures features;
  const absl::Status status = ForEachSelected(
      options.common, options.select, {options.stall_factor}, [&](Session& session, const Report& run) {
        ++runs;
        report.busbw = session.config.busbw;
        ASSIGN_OR_RETURN(const RollupSubject subject,
                         SubjectOf(run, question->Asks(RollupBy::kReservation), session.db, features));
        rollup.Add(subject, run.timeline);
        return absl::OkStatus();
      });
  if (!status.ok()) return Fail(status);
  const std::vector<std::string> words = absl::StrSplit(ByOf(options), ',');
  for (std::size_t i = 0; i < question->keys.size(); ++i) {
    const RollupKey& key = question->keys[i];
    report.keys.push_back(key.by == RollupBy::kTag ? key.tag : words[i]);
  }
  report.by = absl::StrJoin(report.keys, ",");
  report.windows = !question->edges.empty();
  report.gpu_hour = options.price;
  report.rows = rollup.Rows();
  report.total = rollup.Total();
  if (options.suspects) KeepSuspects(report);
  if (options.common.json) {
    std::fputs(RollupAsJson(report).c_str(), stdout);
  } else {
    const bool for_scripts = options.parsable2 || options.csv;
    const absl::Status printed = for_scripts ? PrintForScripts(report, options) : PrintTable(report, options);
    if (!printed.ok()) return Fail(printed);
  }
  return runs == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
