// `sgoodput now`: what pending and running runs do at this moment, those that waste GPUs first.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "sql/text.h"
#include "tools/accounting/report/glance.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/now_report.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/style.h"

namespace goodput {
namespace {

// Of each state, unless all are asked for.
constexpr std::size_t kMostWrong = 50;
constexpr std::size_t kMostQueued = 5;
constexpr std::int64_t kWaitsOfDays = 7;
// Fewer waits would tell about single jobs of others.
constexpr std::size_t kLeastWaits = 5;
constexpr std::size_t kIndent = 8;

std::string CommandFor(const NowRow& row) {
  switch (row.now.state) {
    case NowState::kNoProgress:
    case NowState::kTraining:
      return Cat("sgoodput watch ", row.job_id);
    case NowState::kIdle:
      return Cat("squeue -s -j ", row.job_id);
    case NowState::kRarelySaved:
      return Cat("sgoodput advise ", row.job_id);
    case NowState::kQueued:
    case NowState::kSuspended:
      return Cat("scontrol show job ", row.job_id);
    default:
      return Cat("sgoodput show ", row.job_id);
  }
}

// How long jobs like this one waited lately: "; 12 like it waited 2h10m (median of the last 7 days)".
absl::StatusOr<std::string> WaitedLately(Session& session, const NowRow& row) {
  ASSIGN_OR_RETURN(std::vector<std::int64_t> waits,
                   RecentWaits(session.db, row.cluster, row.partition, row.now.gpus,
                               session.now / kSecond - kWaitsOfDays * 86'400));
  if (waits.size() < kLeastWaits) return std::string();
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::nth_element(waits.begin(), middle, waits.end());
  return Cat("; ", waits.size(), " like it waited ", FormatDuration(*middle * kSecond), " (median of ",
             kWaitsOfDays, " days)");
}

bool IsWrong(NowState state) {
  return WastesGpus(state) || state == NowState::kRarelySaved;
}

// Whether such runs have rows: the text without --all only counts the others.
bool HasRow(NowState state, const NowOptions& options) {
  if (options.wrong || (!options.all && !options.common.json && !options.csv))
    return IsWrong(state) || (state == NowState::kQueued && !options.wrong);
  return true;
}

absl::Status TakeRow(Session& session, const Report& report, const NowOptions& options, NowReport& into) {
  const std::optional<RunNow> now = LookAtNow(report.timeline);
  if (!now) return absl::OkStatus();
  into.totals.Add(*now);
  if (!HasRow(now->state, options)) return absl::OkStatus();
  const RunInfo& info = report.run.info;
  NowRow row;
  row.job_id = report.timeline.attempts.back().facts->job_id;
  row.job_id_text = info.job_id_text;
  row.cluster = info.cluster;
  row.run = info.run.empty() ? info.name : info.run;
  row.user = info.user;
  row.account = info.account;
  row.partition = info.partition;
  row.now = *now;
  row.now.evidence = EvidenceInWords(report.timeline, *now);
  row.command = CommandFor(row);
  if (row.now.state == NowState::kQueued) {
    ASSIGN_OR_RETURN(const std::string waited, WaitedLately(session, row));
    row.now.evidence += waited;
  }
  into.rows.push_back(std::move(row));
  return absl::OkStatus();
}

absl::StatusOr<NowReport> Look(const NowOptions& options) {
  NowReport report;
  SelectionOptions select = options.select;
  report.time = absl::ToUnixNanos(absl::Now());
  // Only what has not ended.
  select.start = "now";
  // A glance is enough for a run that trains if it only adds to the sums.
  const bool only_sums = !HasRow(NowState::kTraining, options);
  const Glance glance = [&](Session& session, ClusterReader& cluster,
                            const std::vector<JobKey>& run) -> absl::StatusOr<bool> {
    if (!only_sums) return false;
    ASSIGN_OR_RETURN(const std::optional<RunNow> trains,
                     GlanceAtNow(session.db, cluster, run, session.now, options.stall_factor));
    if (!trains) return false;
    report.time = session.now;
    report.totals.Add(*trains);
    return true;
  };
  RETURN_IF_ERROR(ForEachSelected(
      options.common, select, {options.stall_factor},
      [&](Session& session, const Report& run) {
        report.time = session.now;
        return TakeRow(session, run, options, report);
      },
      nullptr, glance));
  const auto rank = [](const NowRow& row) {
    const bool waits = row.now.state == NowState::kQueued;
    const std::int64_t lost = waits ? row.now.gpus : static_cast<std::int64_t>(row.now.lost / kSecond);
    return std::tuple(!WastesGpus(row.now.state),
                      WastesGpus(row.now.state) ? NowState::kNoProgress : row.now.state, -lost, -row.now.gpus,
                      row.now.since);
  };
  // Sorted by number, since a row is large.
  std::vector<std::size_t> order(report.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(report.rows[a]) < rank(report.rows[b]); });
  std::vector<NowRow> rows;
  rows.reserve(order.size());
  for (const std::size_t row : order) rows.push_back(std::move(report.rows[row]));
  report.rows = std::move(rows);
  return report;
}

// Whether the text shows such runs, and how many of them.
std::size_t Shown(NowState state, bool all) {
  if (all) return SIZE_MAX;
  if (IsWrong(state)) return kMostWrong;
  return state == NowState::kQueued ? kMostQueued : 0;
}

void PrintRows(const NowReport& report, const NowOptions& options) {
  using Align = Table::Align;
  Table table({{"JobID", Align::kRight},
               {"Run", Align::kLeft, 18},
               {"User", Align::kLeft, 9},
               {"State"},
               {"For", Align::kRight},
               {"GPUs", Align::kRight},
               {"Lost GPUh", Align::kRight}});
  std::vector<const NowRow*> shown;
  std::array<std::size_t, kNowStates> of_state{};
  for (const NowRow& row : report.rows) {
    std::size_t& count = of_state[static_cast<std::size_t>(row.now.state)];
    if (count++ >= Shown(row.now.state, options.all)) continue;
    shown.push_back(&row);
    table.Add({Printable(row.job_id_text), Printable(row.run), Printable(row.user),
               std::string(NowStateText(row.now.state)), FormatDuration(report.time - row.now.since),
               row.now.gpus > 0 ? Cat(row.now.gpus) : "-",
               row.now.gpus > 0 && row.now.lost > 0 ? FormatGpuHours(row.now.lost) : "-"});
  }
  if (!shown.empty()) {
    std::printf("\n");
    std::size_t line = 0;
    const std::string indent(kIndent, ' ');
    for (const absl::string_view text : absl::StrSplit(table.Render(true), '\n', absl::SkipEmpty())) {
      std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
      // Two lines of titles.
      if (line++ < 2 || line - 3 >= shown.size()) continue;
      const NowRow& row = *shown[line - 3];
      std::printf("%s%s", indent.c_str(),
                  Wrap(Printable(row.now.evidence), indent).substr(indent.size()).c_str());
      if (!row.now.told.empty())
        std::printf("%s%s", indent.c_str(),
                    Wrap(Printable(row.now.told), indent).substr(indent.size()).c_str());
      std::printf("%s%s\n", indent.c_str(), row.command.c_str());
    }
  }
  std::string more;
  for (std::size_t i = 0; i < kNowStates; ++i) {
    const auto state = static_cast<NowState>(i);
    const auto runs = static_cast<std::size_t>(report.totals.Of(state).runs);
    const std::size_t limit = Shown(state, options.all);
    if (runs <= limit || (options.wrong && !IsWrong(state))) continue;
    more += Cat(more.empty() ? "" : ", ", runs - limit, " ", NowStateText(state));
  }
  if (!more.empty()) std::printf("\nNot shown: %s (--all)\n", more.c_str());
}

void PrintCsv(const NowReport& report) {
  std::fputs(CsvLine({"JobID", "Cluster", "Run", "User", "Account", "Partition", "State", "Seconds", "GPUs",
                      "GPUSecondsLost", "Evidence", "Command", "Told"})
                 .c_str(),
             stdout);
  for (const NowRow& row : report.rows) {
    std::fputs(
        CsvLine({row.job_id_text, row.cluster, row.run, row.user, row.account, row.partition,
                 std::string(NowStateName(row.now.state)), Cat((report.time - row.now.since) / kSecond),
                 Cat(row.now.gpus), Cat(static_cast<std::int64_t>(row.now.lost / kSecond)), row.now.evidence,
                 row.command, row.now.told})
            .c_str(),
        stdout);
  }
}

void Print(const NowReport& report, const NowOptions& options) {
  if (options.common.json) {
    std::printf("%s\n", NowAsJson(report).c_str());
    return;
  }
  if (options.csv) return PrintCsv(report);
  const Style style(UseColor(options.common.color));
  const std::string summary = Cat(FormatTime(report.time), "  ", NowSummary(report.totals));
  std::printf("%s", style.Bold(Wrap(summary, "")).c_str());
  PrintRows(report, options);
}

}  // namespace

int RunNowCommand(const NowOptions& options) {
  if (options.csv && options.common.json)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with --json"));
  while (true) {
    const absl::StatusOr<NowReport> report = Look(options);
    if (!report.ok() && (options.interval_s == 0 || absl::IsInvalidArgument(report.status())))
      return Fail(report.status());
    if (report.ok()) {
      Print(*report, options);
    } else {
      // A busy database does not end it.
      std::fprintf(stderr, "sgoodput: %s\n", Printable(Message(report.status())).c_str());
    }
    if (options.interval_s == 0) return kAnswered;
    std::printf("\n");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  }
}

}  // namespace goodput
