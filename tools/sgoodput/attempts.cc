// `sgoodput attempts`: one line per attempt of a run.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"

namespace goodput {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kNodesAtLeast = 6;

bool OfSeveralJobs(const Report& report) {
  const std::vector<AttemptSummary>& attempts = report.timeline.attempts;
  return std::any_of(attempts.begin(), attempts.end(), [&](const AttemptSummary& attempt) {
    return attempt.facts->job_id != attempts.front().facts->job_id;
  });
}

// A line has 80 columns; -P prints the rest.
std::vector<Table::Column> ColumnsFor(const Report& report) {
  using Align = Table::Align;
  std::vector<Table::Column> columns{{"#", Align::kRight}};
  const bool several = OfSeveralJobs(report);
  if (several) columns.push_back({"JobID", Align::kRight});
  // "#", JobID, and the other columns with their gaps.
  const std::size_t taken = 5 + (several ? 10 : 0) + 11 + 2 + 10 + 4 * 2 + 6 + 6 + 10 + 6 + 2;
  for (const Table::Column& column : std::vector<Table::Column>{
           {"Start"},
           {"State", Align::kLeft, 9},
           {"Waited", Align::kRight},
           {"Ran", Align::kRight},
           {"Productive", Align::kRight},
           {"Lost", Align::kRight},
           {"Nodes", Align::kLeft, kWidth > taken + kNodesAtLeast ? kWidth - taken : kNodesAtLeast}})
    columns.push_back(column);
  return columns;
}

// From the cells that -P prints.
std::vector<std::string> ForTable(const Report& report, std::size_t i,
                                  const std::vector<std::string>& cells) {
  const std::optional<Ns>& start = report.timeline.attempts[i].facts->start;
  std::vector<std::string> row{cells[0]};
  if (OfSeveralJobs(report)) row.push_back(cells[1]);
  row.push_back(start ? FormatTime(*start).substr(5, 11) : "-");
  row.insert(row.end(), cells.begin() + 6, cells.end());
  return row;
}

}  // namespace

int RunAttempts(const AttemptsOptions& options) {
  absl::StatusOr<Target> target = OpenTarget(options.common, options.target);
  if (!target.ok()) return Fail(target.status());
  absl::StatusOr<Report> report = MakeReport(*target, {options.stall_factor});
  if (!report.ok()) {
    return Fail(Annotate(report.status(), options.target.job.empty() ? Cat("run ", options.target.run)
                                                                     : Cat("job ", options.target.job)));
  }
  if (options.common.json) {
    std::fputs(ReportAsJson(*report).c_str(), stdout);
    return kAnswered;
  }
  Table table(ColumnsFor(*report));
  std::string parsable;
  if (!options.no_header)
    parsable = ParsableLine({"#", "JobID", "Submit", "Eligible", "Start", "End", "State", "Waited", "Ran",
                             "Productive", "Lost", "Nodes"});
  for (std::size_t i = 0; i < report->timeline.attempts.size(); ++i) {
    const AttemptFacts& facts = *report->timeline.attempts[i].facts;
    Ns waited = 0;
    Ns ran = 0;
    Ns productive = 0;
    Ns lost = 0;
    for (const Interval& interval : report->timeline.intervals) {
      if (interval.attempt != static_cast<int>(i)) continue;
      const Ns ns = interval.end - interval.begin;
      const bool allocated = facts.start && interval.begin >= *facts.start;
      (allocated ? ran : waited) += ns;
      if (interval.bucket == Bucket::kProductive) productive += ns;
      if (interval.bucket == Bucket::kLostWork) lost += ns;
    }
    const std::vector<std::string> cells{Cat(i + 1),
                                         FormatJobId(facts.job_id),
                                         FormatTime(facts.submit),
                                         FormatTime(facts.eligible),
                                         FormatTime(facts.start),
                                         FormatTime(facts.end),
                                         facts.state,
                                         FormatDuration(waited),
                                         FormatDuration(ran),
                                         FormatDuration(productive),
                                         FormatDuration(lost),
                                         Printable(facts.node_list)};
    table.Add(ForTable(*report, i, cells));
    parsable += ParsableLine(cells);
  }
  std::fputs(options.parsable2 ? parsable.c_str() : table.Render(!options.no_header).c_str(), stdout);
  return kAnswered;
}

}  // namespace goodput
