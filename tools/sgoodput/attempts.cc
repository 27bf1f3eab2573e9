// `sgoodput attempts`: one line an attempt of a run, with what it went through.
#include <cstdio>
#include <string>

#include "sql/text.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report.h"
#include "tools/sgoodput/session.h"

namespace goodput {

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
  using Align = Table::Align;
  Table table({{"#", Align::kRight},
               {"JobID", Align::kRight},
               {"Submit"},
               {"Eligible"},
               {"Start"},
               {"End"},
               {"State"},
               {"Waited", Align::kRight},
               {"Ran", Align::kRight},
               {"Productive", Align::kRight},
               {"Lost", Align::kRight},
               {"Nodes"}});
  std::string parsable = "#|JobID|Submit|Eligible|Start|End|State|Waited|Ran|Productive|Lost|Nodes\n";
  if (options.no_header) parsable.clear();
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
    table.Add(cells);
    for (std::size_t c = 0; c < cells.size(); ++c) parsable += cells[c] + (c + 1 < cells.size() ? "|" : "\n");
  }
  std::fputs(options.parsable2 ? parsable.c_str() : table.Render(!options.no_header).c_str(), stdout);
  return kAnswered;
}

}  // namespace goodput
