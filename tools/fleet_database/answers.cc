// `sgoodput --fleet-db URL`: list, report and show over all clusters.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/rollup_table.h"
#include "tools/accounting/report/suspects.h"
#include "tools/accounting/report/utilization.h"
#include "tools/base/format.h"
#include "tools/fleet_database/fleet_session.h"
#include "tools/fleet_database/options.h"
#include "tools/fleet_database/selection.h"
#include "tools/sources/fleet_database/questions.h"
#include "tools/sources/fleet_database/utilization_question.h"

namespace goodput {
namespace {

absl::StatusOr<std::int64_t> DaysOf(const std::string& window) {
  if (window.empty()) return 0;
  std::int64_t days = 0;
  if (window.back() != 'd' || !absl::SimpleAtoi(window.substr(0, window.size() - 1), &days) || days < 1 ||
      days > 36'500)
    return absl::InvalidArgumentError(
        Cat("--window: the fleet database counts whole days: 1d, 7d, not '", window, "'"));
  return days;
}

absl::Status CheckKeys(const std::vector<std::string>& by) {
  if (by.empty() || by.size() > 2)
    return absl::InvalidArgumentError("--by: use one group, or two: cluster,month");
  if (by.size() == 2 && (by[0] == "all" || by[1] == "all"))
    return absl::InvalidArgumentError("--by: all cannot be combined with another group");
  return absl::OkStatus();
}

absl::StatusOr<RollupReport> Ask(const FleetReportOptions& options) {
  FleetQuestion question;
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(question.select, ReadFleetSelection(options.select, now));
  question.by = absl::StrSplit(options.by, ',');
  RETURN_IF_ERROR(CheckKeys(question.by));
  ASSIGN_OR_RETURN(question.window_days, DaysOf(options.window));
  if (options.price && (!std::isfinite(*options.price) || *options.price < 0))
    return absl::InvalidArgumentError("--gpu-hour: the price must be 0 or more");
  ASSIGN_OR_RETURN(FleetConnection connection, OpenFleet(options.common));
  ASSIGN_OR_RETURN(RollupReport report, AskFleet(connection, question));
  report.gpu_hour = options.price;
  return report;
}

// Sums of a cluster that has not sent for a while are not complete.
void SayStale(const std::vector<FleetClusterTime>& clusters) {
  const Ns now = absl::GetCurrentTimeNanos();
  for (const FleetClusterTime& of : clusters) {
    if (of.as_of && now - *of.as_of < kStale) continue;
    std::fputs(Wrap(Cat("Cluster ", Printable(of.cluster),
                        of.as_of ? Cat(": complete up to ", FormatTime(*of.as_of), " only (",
                                       FormatDuration(now - *of.as_of), " ago)")
                                 : std::string(" has sent nothing yet"),
                        "; see sgoodput fleet status."),
                    "")
                   .c_str(),
               stdout);
  }
}

absl::StatusOr<UtilizationReport> AskUse(const FleetReportOptions& options) {
  const FleetSelectOptions& of = options.select;
  if (!of.users.empty() || !of.accounts.empty() || !of.partitions.empty() || !of.states.empty() ||
      !of.names.empty() || !of.jobs.empty() || options.suspects || options.price || !options.window.empty() ||
      !options.sort.empty())
    return absl::InvalidArgumentError(
        "--fleet is about nodes, with jobs and without: it can only be used with -M, -N, -S, -E and --by");
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(const FleetSelection select, ReadFleetSelection(of, now));
  UtilizationQuestion question;
  question.clusters = select.clusters;
  question.nodes = select.nodes;
  question.by = absl::StrSplit(options.by, ',');
  RETURN_IF_ERROR(CheckKeys(question.by));
  question.begin = *select.start;  // always set without -j
  question.end = std::max(question.begin + 1, select.end.value_or(absl::ToUnixNanos(now)));
  ASSIGN_OR_RETURN(FleetConnection connection, OpenFleet(options.common));
  return AskUtilization(connection, question);
}

int RunFleetUtilization(const FleetReportOptions& options) {
  const absl::StatusOr<UtilizationReport> report = AskUse(options);
  if (!report.ok()) return FailFleet(report.status());
  if (options.common.json) {
    std::fputs(UtilizationAsJson(*report).c_str(), stdout);
  } else {
    PrintUtilization(*report, {options.parsable2, options.csv, options.no_header});
    if (!options.parsable2 && !options.csv) SayStale(*report->clusters);
  }
  return report->rows.empty() ? kFleetNothingMatched : kFleetAnswered;
}

std::vector<std::string> Cells(const FleetRun& run) {
  return {run.cluster,
          run.job_id_text,
          run.run,
          run.user,
          run.final ? run.state : Cat(run.state, "*"),
          FormatTime(run.begin),
          std::to_string(run.gpus),
          FormatGpuHours(run.sums.wanted()),
          FormatPercent(run.sums.scheduling(), run.sums.scheduling_range()),
          FormatPercent(run.sums.runtime(), run.sums.runtime_range()),
          FormatPercent(run.sums.sg_rg(), run.sums.sg_rg_range())};
}

void PrintTable(const FleetRuns& found, bool header) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"Cluster", Table::Align::kLeft, 10},
               {"JobID", kRight, 12},
               {"Run", Table::Align::kLeft, 14},
               {"User", Table::Align::kLeft, 8},
               {"State", Table::Align::kLeft, 10},
               {"GPUs", kRight},
               {"GPUh", kRight},
               {"Goodput", kRight}});
  for (const FleetRun& run : found.runs) {
    std::vector<std::string> cells = Cells(run);
    for (std::string& cell : cells) cell = Printable(cell);
    table.Add({cells[0], cells[1], cells[2], cells[3], cells[4], cells[6], cells[7], cells[10]});
  }
  std::fputs(table.Render(header).c_str(), stdout);
}

void PrintLines(const FleetRuns& found, bool csv, bool header) {
  std::vector<std::vector<std::string>> lines;
  if (header)
    lines.push_back({"Cluster", "JobID", "Run", "User", "State", "Submit", "GPUs", "GPUh", "Sched", "Runtime",
                     "Goodput"});
  for (const FleetRun& run : found.runs) lines.push_back(Cells(run));
  for (const std::vector<std::string>& cells : lines)
    std::fputs((csv ? CsvLine(cells) : ParsableLine(cells)).c_str(), stdout);
}

// The run as a report of one row.
RollupReport ReportOf(const FleetRun& run) {
  RollupReport report;
  report.by = "run";
  report.keys = {"run"};
  report.total = run.sums;
  report.total.runs = 1;
  report.total.group = run.run.empty() ? run.job_id_text : run.run;
  report.rows = {report.total};
  report.clusters.emplace();
  return report;
}

void PrintRun(const FleetRun& run) {
  std::printf(
      "Run %s, job %s of cluster %s  %s\n", Printable(run.run.empty() ? run.job_id_text : run.run).c_str(),
      Printable(run.job_id_text).c_str(), Printable(run.cluster).c_str(), Printable(run.state).c_str());
  std::printf("%s to %s, %s, %s\n\n", FormatTime(run.begin).c_str(),
              run.final ? FormatTime(run.end).c_str() : "now (running)",
              Counted(run.attempts, "attempt").c_str(),
              Counted(run.sums.interruptions, "interruption").c_str());
  std::printf("Goodput  scheduling %s x runtime %s = %s\n\n",
              FormatPercent(run.sums.scheduling(), run.sums.scheduling_range()).c_str(),
              FormatPercent(run.sums.runtime(), run.sums.runtime_range()).c_str(),
              FormatPercent(run.sums.sg_rg(), run.sums.sg_rg_range()).c_str());
  std::printf("Where the time went\n");
  Ns wall = 0;
  for (const Ns ns : run.sums.ns) wall += ns;
  Table table({{"Bucket"},
               {"Time", Table::Align::kRight},
               {"Share", Table::Align::kRight},
               {"GPUh", Table::Align::kRight}});
  for (const Bucket bucket : AllBuckets()) {
    const auto i = static_cast<std::size_t>(bucket);
    if (run.sums.ns[i] == 0 && run.sums.gpu_ns[i] == 0) continue;
    table.Add({std::string(BucketName(bucket)), FormatDuration(run.sums.ns[i]),
               FormatPercent(static_cast<double>(run.sums.ns[i]) / static_cast<double>(wall)),
               FormatGpuHours(run.sums.gpu_ns[i])});
  }
  std::fputs(table.Render(true, "  ").c_str(), stdout);
  const std::string where =
      run.cluster_url.empty() ? "on its controller" : Cat("with --url ", run.cluster_url);
  std::fputs(Wrap(Cat("\nIts intervals, evidence and advice are on its cluster: sgoodput show ",
                      Printable(run.job_id_text), " ", Printable(where)),
                  "")
                 .c_str(),
             stdout);
}

absl::StatusOr<FleetRun> FindRun(const FleetShowOptions& options) {
  FleetSelection select;
  if (options.job.empty() == options.run.empty())
    return absl::InvalidArgumentError("specify a job id or a run (--run NAME)");
  if (!options.cluster.empty()) select.clusters = {options.cluster};
  const bool job = !options.job.empty() && options.job.find_first_not_of("0123456789_+") == std::string::npos;
  const std::string& name = options.job.empty() ? options.run : options.job;
  (job ? select.jobs : select.runs) = {name};
  ASSIGN_OR_RETURN(FleetConnection connection, OpenFleet(options.common));
  constexpr std::int64_t kFew = 20;
  ASSIGN_OR_RETURN(FleetRuns found, RunsOfFleet(connection, select, kFew));
  if (found.runs.empty()) return absl::NotFoundError(Cat("the fleet has no run '", name, "'"));
  std::vector<std::string> clusters;
  for (const FleetRun& run : found.runs) clusters.push_back(run.cluster);
  std::sort(clusters.begin(), clusters.end());
  clusters.erase(std::unique(clusters.begin(), clusters.end()), clusters.end());
  if (clusters.size() > 1)
    return absl::InvalidArgumentError(Cat("clusters ", absl::StrJoin(clusters, " and "), " each have '", name,
                                          "'; select one with -M CLUSTER"));
  if (found.runs.size() > 1)
    std::fprintf(stderr, "sgoodput: %s has several runs '%s'; showing the latest\n",
                 Printable(clusters.front()).c_str(), Printable(name).c_str());
  return std::move(found.runs.front());
}

}  // namespace

int RunFleetReport(const FleetReportOptions& options) {
  if (options.csv && options.parsable2)
    return FailFleet(absl::InvalidArgumentError("--csv cannot be used with -P"));
  if (options.fleet) return RunFleetUtilization(options);
  if (!options.sort.empty() && options.common.json)
    return FailFleet(absl::InvalidArgumentError("--sort cannot be used with --json"));
  if (options.suspects && (options.by != "node" || !options.window.empty()))
    return FailFleet(absl::InvalidArgumentError("--suspects requires --by node, without --window"));
  absl::StatusOr<RollupReport> report = Ask(options);
  if (!report.ok()) return FailFleet(report.status());
  if (options.suspects) KeepSuspects(*report);
  if (options.common.json) {
    std::fputs(RollupAsJson(*report).c_str(), stdout);
    return report->total.runs == 0 ? kFleetNothingMatched : kFleetAnswered;
  }
  const bool for_scripts = options.parsable2 || options.csv;
  if (options.suspects && !for_scripts) PrintSuspects(*report);
  if (for_scripts || !options.suspects || !report->rows.empty()) {
    const absl::Status printed =
        PrintRollup(*report, {options.parsable2, options.csv, options.no_header, options.sort});
    if (!printed.ok()) return FailFleet(printed);
  }
  if (!for_scripts) SayStale(*report->clusters);
  return report->total.runs == 0 ? kFleetNothingMatched : kFleetAnswered;
}

int RunFleetList(const FleetListOptions& options) {
  if (options.csv && options.parsable2)
    return FailFleet(absl::InvalidArgumentError("--csv cannot be used with -P"));
  const absl::StatusOr<FleetSelection> select = ReadFleetSelection(options.select, absl::Now());
  if (!select.ok()) return FailFleet(select.status());
  absl::StatusOr<FleetConnection> connection = OpenFleet(options.common);
  if (!connection.ok()) return FailFleet(connection.status());
  const absl::StatusOr<FleetRuns> found = RunsOfFleet(*connection, *select, options.limit);
  if (!found.ok()) return FailFleet(found.status());
  if (options.csv || options.parsable2) {
    PrintLines(*found, options.csv, !options.no_header);
  } else {
    PrintTable(*found, !options.no_header);
  }
  if (found->more)
    std::fprintf(stderr, "sgoodput: there are more than %lld runs; use --limit, or a shorter time\n",
                 static_cast<long long>(options.limit));
  return found->runs.empty() ? kFleetNothingMatched : kFleetAnswered;
}

int RunFleetShow(const FleetShowOptions& options) {
  const absl::StatusOr<FleetRun> run = FindRun(options);
  if (!run.ok()) return FailFleet(run.status());
  if (options.common.json) {
    std::fputs(RollupAsJson(ReportOf(*run)).c_str(), stdout);
  } else {
    PrintRun(*run);
  }
  return kFleetAnswered;
}

}  // namespace goodput
