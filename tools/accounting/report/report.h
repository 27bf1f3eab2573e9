// A run with its timeline and its goodput: what every output starts from.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/coarse.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/sensitivity.h"
#include "tools/accounting/timeline/timeline.h"
#include "tools/base/gpu_peaks.h"

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

// What a report is made with besides the run's own records.
struct ReportSettings {
  TimelineOptions timeline;
  Ns now = 0;
  std::vector<GpuPeak> peaks;      // besides the published ones
  double busbw = 0;                // as Config::busbw
  bool may_name_preemptor = true;  // false: the reader may not learn whose job took the nodes
};

// Reports on the run these jobs make up, or on several runs where two of the jobs had resources at the same
// time (see tools/accounting/runs/concurrent_jobs.h). Returns at least one report.
absl::StatusOr<std::vector<Report>> MakeReports(Database& db, AccountingReader& accounting,
                                                const std::vector<JobKey>& jobs,
                                                const ReportSettings& settings);

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
