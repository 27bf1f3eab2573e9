// A run with its timeline and goodput: the common input of all outputs.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/rollup/provision.h"
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
  std::string program_evidence;  // for account.goodput.program; empty if that is absent
  std::string program_reason;    // why that is absent; otherwise empty
  double flops_per_step = 0;     // of account.goodput.program, with peak_flops; 0 if that is absent
  double peak_flops = 0;         // FLOP/s of one GPU
  std::string run_inferred;      // why its jobs were taken as one run; empty: not inferred
  double busbw = 0;              // as Config::busbw
  bool is_part = false;          // clipped, or without excluded time
  std::vector<SensitivityRow> sensitivity;  // if requested
  std::vector<Cell> cells;                  // of the timeline, if requested
  std::vector<std::string> what_to_do;      // sentences; of `show` only
  // How each attempt's machines were obtained, as ProvisionsOf in machines_report.h; of `show` only.
  std::vector<std::optional<Provision>> provisions;

  Report() = default;
  Report(Report&&) = default;
  Report& operator=(Report&&) = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
};

// Settings of a report besides the run's records.
struct ReportSettings {
  TimelineOptions timeline;
  Ns now = 0;
  std::vector<GpuPeak> peaks;      // in addition to the published ones
  double busbw = 0;                // as Config::busbw
  bool may_name_preemptor = true;  // false: the reader may not learn whose job took the nodes
  bool counted = true;             // false: no account, and no program goodput
};

// Reports on the run that these jobs make up, or on several runs if jobs had resources at the same time (see
// tools/accounting/runs/concurrent_jobs.h). Returns at least one report.
absl::StatusOr<std::vector<Report>> MakeReports(Database& db, ClusterReader& cluster,
                                                const std::vector<JobKey>& jobs,
                                                const ReportSettings& settings);

// Restricts the report to the window [begin, end) and counts again.
void ClipReport(Report& report, Ns begin, Ns end);

// Counts the report again without these windows.
void ExcludeFromReport(Report& report, const std::vector<TimeSpan>& windows);

// Writes the document that `--json` prints: {"schema":"slurm-goodput/2","jobs":[...]}, see
// sgoodput.schema.json. Writes one job at a time, so that memory does not grow with their number.
class JsonReports {
 public:
  explicit JsonReports(std::FILE* out) : out_(out) {}
  void Add(const Report& report);
  // `next`: cursor of the next page; empty: this was the last page.
  void Finish(const std::string& next = "");

 private:
  void Begin();
  std::FILE* out_;
  bool begun_ = false;
  bool any_ = false;
};
// The same document for one run.
std::string ReportAsJson(const Report& report);

}  // namespace goodput
