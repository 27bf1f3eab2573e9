#include "tools/accounting/report/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/flops/program_flops.h"
#include "tools/accounting/runs/concurrent_jobs.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/exclude.h"
#include "tools/accounting/timeline/world_sizes.h"

namespace goodput {

namespace {

void AddProgramGoodput(const std::vector<GpuPeak>& peaks, Report& report) {
  absl::StatusOr<ProgramFlops> program = FlopsOfProgram(report.run.flops, report.run.gpu_types, peaks);
  if (!program.ok()) {
    report.program_reason = Message(program.status());
    return;
  }
  if (const std::optional<double> share =
          ShareOfDeclaredTokens(report.timeline, program->tokens_per_step.value_or(0))) {
    // The mean of the kept steps.
    program->flops_per_step *= *share;
    program->evidence += Cat("; kept steps weighted by the tokens that the marks of the world tell, ",
                             absl::StrFormat("%.1f%%", *share * 100), " of the declared ones on average");
  } else {
    report.program_reason = WhyStepsMayDiffer(report.timeline);
    if (!report.program_reason.empty()) return;
  }
  report.program_reason =
      TakeProgramGoodput(report.timeline.steps, program->flops_per_step, program->peak_flops, report.account);
  if (!report.program_reason.empty()) return;
  report.program_evidence = program->evidence;
  report.flops_per_step = program->flops_per_step;
  report.peak_flops = program->peak_flops;
}

}  // namespace

absl::StatusOr<std::vector<Report>> MakeReports(Database& db, ClusterReader& cluster,
                                                const std::vector<JobKey>& jobs,
                                                const ReportSettings& settings) {
  ASSIGN_OR_RETURN(std::vector<Run> runs, LoadConcurrentRuns(db, jobs, settings.now, cluster));
  const bool nameless = runs.front().info.run.empty();
  std::vector<Report> reports;
  reports.reserve(runs.size());
  for (Run& run : runs) {
    Report& report = reports.emplace_back();
    report.run = std::move(run);
    report.busbw = settings.busbw;
    // Not every viewer may know whose job that was.
    for (AttemptFacts& attempt : report.run.facts.attempts) {
      if (!settings.may_name_preemptor && !attempt.preempted_by.empty())
        attempt.preempted_by = "another job started on its nodes";
    }
    report.timeline = BuildTimeline(report.run.facts, settings.timeline);
    if (settings.counted) {
      report.account = TakeAccount(report.timeline);
      AddProgramGoodput(settings.peaks, report);
    }
    if (runs.size() > 1 && nameless) {
      report.run.info.run.clear();
      report.timeline.warnings.push_back(Cat("jobs of the chain ran at the same time, so they are ",
                                             runs.size(), " runs, of which this is one"));
    } else if (runs.size() > 1) {
      const std::string& name = reports.front().run.info.run;
      report.timeline.warnings.push_back(Cat("jobs of run ", name, " ran at the same time, so they are ",
                                             runs.size(), " runs, ", name, " to ", name, "#", runs.size(),
                                             "; give each run its own --goodput-run"));
    }
  }
  return reports;
}

void ClipReport(Report& report, Ns begin, Ns end) {
  report.is_part = report.is_part || report.timeline.begin < begin || report.timeline.end > end;
  ClipTimeline(report.timeline, begin, end);
  report.account = TakeAccount(report.timeline);
  report.program_evidence.clear();
  report.program_reason = "the steps kept within a window are not counted";
}

void ExcludeFromReport(Report& report, const std::vector<TimeSpan>& windows) {
  if (windows.empty()) return;
  constexpr auto kProductive = static_cast<std::size_t>(Bucket::kProductive);
  const Account before = report.account;
  report.is_part = true;
  ExcludeTime(report.timeline, windows);
  report.account = TakeAccount(report.timeline);
  if (!before.goodput.program) return;
  if (before.buckets[kProductive].gpu_ns == report.account.buckets[kProductive].gpu_ns) {
    report.account.goodput.program = before.goodput.program;
    if (report.account.goodput.sg_rg)
      report.account.goodput.mpg = *report.account.goodput.sg_rg * *before.goodput.program;
    return;
  }
  report.program_evidence.clear();
  report.program_reason = "the steps kept in excluded time are not counted";
}

}  // namespace goodput
