// One run, judged: what every output form starts from.
#ifndef GOODPUT_TOOLS_SGOODPUT_REPORT_H_
#define GOODPUT_TOOLS_SGOODPUT_REPORT_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/runs/load_run.h"
#include "tools/sgoodput/session.h"
#include "tools/timeline/coarse.h"
#include "tools/timeline/goodput.h"
#include "tools/timeline/sensitivity.h"
#include "tools/timeline/timeline.h"

namespace goodput {

// Not copyable: the timeline points into the facts.
struct Report {
  Run run;
  Timeline timeline;
  Account account;
  std::string program_evidence;  // of account.goodput.program; empty without
  std::string program_reason;    // why there is none; empty with
  std::string run_inferred;      // by what its jobs were taken for one run; empty: that was not asked for
  double busbw = 0;              // as Config::busbw
  std::vector<SensitivityRow> sensitivity;  // where asked for
  std::vector<Cell> cells;                  // of the timeline, where asked for

  Report() = default;
  Report(Report&&) = default;
  Report& operator=(Report&&) = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
};

// The jobs as one run, or as several where two of them had resources at once (see tools/runs/strands.h).
// Never none.
absl::StatusOr<std::vector<Report>> MakeReports(Session& session, const std::vector<JobKey>& jobs,
                                                const TimelineOptions& options, AccountingReader& accounting);

// Of what was asked for.
absl::StatusOr<Report> MakeReport(Target& target, const TimelineOptions& options);

// Counts the report again as seen through a window, [begin, end).
void ClipReport(Report& report, Ns begin, Ns end);

// Counts the report again without these windows.
void ExcludeFromReport(Report& report, const std::vector<TimeSpan>& windows);

// Writes the document `--json` prints: {"schema":"slurm-goodput/2","jobs":[...]}, see sgoodput.schema.json;
// a job at a time, so that a million need no more memory than one.
class JsonReports {
 public:
  explicit JsonReports(std::FILE* out) : out_(out) {}
  void Add(const Report& report);
  // `next`: where the next page goes on; empty: this was the last.
  void Finish(const std::string& next = "");

 private:
  void Begin();
  std::FILE* out_;
  bool begun_ = false;
  bool any_ = false;
};
// The same document of one run.
std::string ReportAsJson(const Report& report);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_REPORT_H_
