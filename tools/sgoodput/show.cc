// `sgoodput show`: prints one run, and with `--explain BUCKET` its intervals with their evidence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/record_blocks.h"
#include "sql/text.h"
#include "tools/accounting/fleet/load_fleet.h"
#include "tools/accounting/report/gpu_hours.h"
#include "tools/accounting/report/late_ranks.h"
#include "tools/accounting/report/machines_report.h"
#include "tools/accounting/timeline/lens.h"
#include "tools/accounting/timeline/sensitivity.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/requested_profiles.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/show_sections.h"
#include "tools/sgoodput/style.h"

namespace goodput {
namespace {

// Of a timeline: more than a screen's columns, to allow zooming.
constexpr std::size_t kMostCells = 4000;

void PrintSteps(const Report& report, bool all, const Style& style) {
  const StepCounts& steps = report.timeline.steps;
  if (steps.executed == 0 && report.timeline.checkpoints.empty()) return;
  const auto complete =
      std::count_if(report.timeline.checkpoints.begin(), report.timeline.checkpoints.end(),
                    [](const Checkpoint& checkpoint) { return checkpoint.complete.has_value(); });
  if (steps.executed == 0) {
    std::printf("%s  none seen\n", style.Bold("Steps").c_str());
  } else {
    std::printf(
        "%s  %lld executed, %lld kept, %lld lost, %lld at risk; median %s\n", style.Bold("Steps").c_str(),
        static_cast<long long>(steps.executed), static_cast<long long>(steps.kept),
        static_cast<long long>(steps.lost), static_cast<long long>(steps.at_risk),
        steps.median ? absl::StrFormat("%.3fs", static_cast<double>(*steps.median) / 1e9).c_str() : "-");
  }
  std::printf("       %lld of %zu checkpoints complete\n", static_cast<long long>(complete),
              report.timeline.checkpoints.size());
  if (steps.failed > 0)
    std::printf("       %lld of those lost failed and were tried again\n",
                static_cast<long long>(steps.failed));
  if (steps.trainings > 1) {
    std::fputs(Wrap(Cat(steps.trainings,
                        " trainings, one after another: each began with the first step when the "
                        "one before it was over"),
                    "       ")
                   .c_str(),
               stdout);
  }
  if (const std::string pace = PaceInWords(report.account); !pace.empty())
    std::fputs(Wrap(pace, "       ").c_str(), stdout);
  for (const std::string& wait : {RankWaitInWords(report), WhyNoRankWait(report, all)}) {
    if (!wait.empty()) std::fputs(Wrap(wait, "       ").c_str(), stdout);
  }
  PrintLastStep(report);
  std::printf("\n");
}

std::string RefText(const Report& report, const EvidenceRef& ref) {
  if (ref.source < 0) return "-";
  return Cat(report.run.facts.SourceName(static_cast<std::size_t>(ref.source)), ":", ref.offset);
}

// GPU time while the numbers of a mark or a declaration were valid.
GpuNs GpuTimeOf(const Timeline& timeline, const WorldSpan& world, Bucket bucket) {
  const GpuWeights weights(timeline);
  GpuNs sum = 0;
  for (const Interval& interval : timeline.intervals) {
    if (interval.attempt != world.attempt) continue;
    const Ns begin = std::max(interval.begin, world.begin);
    const Ns end = std::min(interval.end, world.end);
    for (const GpuWeights::Share& share : weights.Split(interval, begin, end))
      sum += share.bucket == bucket && begin < end ? share.gpu_ns : 0;
  }
  return sum;
}

// Of a bucket that has GPU time, but no seconds: which marks or declarations say so.
void ExplainGpuTime(const Report& report, Bucket bucket) {
  GpuNs sum = 0;
  for (const WorldSpan& world : report.timeline.worlds) {
    const GpuNs gpu_ns = GpuTimeOf(report.timeline, world, bucket);
    if (gpu_ns == 0) continue;
    sum += gpu_ns;
    const std::string stepping = world.stepping ? Cat(*world.stepping, " GPUs step") : "all others step";
    const std::string wanted = world.wanted ? Cat(" of ", *world.wanted) : "";
    const std::string spares =
        world.spares > 0 ? Cat(", ", world.spares, world.spares == 1 ? " spare" : " spares") : "";
    std::printf("%s.%03d  %.3fs  %sh of GPU time  attempt %d  %s  %s%s%s\n", FormatTime(world.begin).c_str(),
                static_cast<int>(world.begin % kSecond / 1'000'000),
                static_cast<double>(world.end - world.begin) / 1e9, FormatGpuHours(gpu_ns).c_str(),
                world.attempt + 1, std::string(EvidenceName(world.evidence)).c_str(), stepping.c_str(),
                wanted.c_str(), spares.c_str());
    if (world.ref.source >= 0) std::printf("  from %s\n", RefText(report, world.ref).c_str());
  }
  if (sum > 0) std::printf("\n");
  std::fputs(Wrap(Cat(FormatGpuHours(sum), "h of GPU time in total, and no seconds: the time of these ",
                      "GPUs is beside that of the others. Records are NODE/FILE:OFFSET in the spool."),
                  "")
                 .c_str(),
             stdout);
}

void Explain(const Report& report, Bucket bucket, const Style& style) {
  std::printf("%s: %s\n\n", style.Bold(std::string(BucketName(bucket))).c_str(),
              std::string(BucketMeaning(bucket)).c_str());
  if (bucket == Bucket::kStandby || bucket == Bucket::kIdleMember || bucket == Bucket::kMissing)
    return ExplainGpuTime(report, bucket);
  Ns sum = 0;
  for (const Interval& interval : report.timeline.intervals) {
    if (interval.bucket != bucket) continue;
    const Ns ns = interval.end - interval.begin;
    sum += ns;
    std::printf("%s.%03d  %.3fs%s  %s%s\n", FormatTime(interval.begin).c_str(),
                static_cast<int>(interval.begin % kSecond / 1'000'000), static_cast<double>(ns) / 1e9,
                interval.attempt >= 0 ? Cat("  attempt ", interval.attempt + 1).c_str() : "",
                std::string(EvidenceName(interval.evidence)).c_str(),
                interval.part.empty() ? "" : Cat("  ", Printable(interval.part)).c_str());
    // One record per line: names are long, and can be copied as a whole.
    if (interval.from.source >= 0) std::printf("  from %s\n", RefText(report, interval.from).c_str());
    if (interval.to.source >= 0) std::printf("  to   %s\n", RefText(report, interval.to).c_str());
    if (!interval.why.empty()) std::fputs(Wrap(Printable(interval.why), "  ").c_str(), stdout);
  }
  if (sum > 0) std::printf("\n");
  std::fputs(Wrap(Cat(FormatDuration(sum),
                      " in total. Records are NODE/FILE:OFFSET in the spool; a boundary without a record "
                      "comes from Slurm."),
                  "")
                 .c_str(),
             stdout);
}

// Further warnings are printed with --all.
constexpr std::size_t kMostWarnings = 5;

void PrintWarnings(const std::vector<std::string>& warnings, bool all) {
  const std::size_t most = all ? warnings.size() : std::min(warnings.size(), kMostWarnings);
  for (std::size_t i = 0; i < most; ++i) std::fputs(Wrap(Cat("warning: ", warnings[i]), "").c_str(), stdout);
  if (most < warnings.size()) std::printf("(%zu more warnings with --all)\n", warnings.size() - most);
  if (!warnings.empty()) std::printf("\n");
}

// Sections without news are printed only with --all; what to do comes last.
void PrintAll(const Report& report, bool all, const Style& style) {
  PrintHead(report, style);
  PrintGoodput(report, style);
  PrintBuckets(report, style);
  PrintElastic(report, style);
  PrintAttempts(report, style, all);
  PrintInterruptions(report, style, all);
  PrintStalls(report, style);
  if (all || SignalsSaySomething(report)) {
    PrintSignals(report, style);
  } else {
    PrintSignalSummary(report, style);
  }
  PrintSteps(report, all, style);
  PrintNetwork(report, style);
  PrintGpuUse(report, style);
  PrintHostUse(report, style);
  if (all) PrintDefinitions(report, style);
  if (!report.sensitivity.empty()) PrintSensitivity(report.sensitivity, style);
  if (all || !ProofHolds(report)) PrintProof(report, style);
  PrintWarnings(report.timeline.warnings, all);
  PrintWhatToDo(report, style);
}

void ExplainWhatIsGone(Target& target) {
  const absl::StatusOr<std::optional<std::int64_t>> since = SummarizedSince(target.session.db, target.jobs);
  if (!since.ok() || !*since) return;
  std::printf("The nodes' records were replaced by a summary at %s (keep_events).\n",
              FormatTime(**since * kSecond).c_str());
}

bool Trained(const Timeline& timeline) {
  // A running program may still be starting.
  constexpr Ns kLongestStart = 120 * kSecond;
  return std::any_of(timeline.incarnations.begin(), timeline.incarnations.end(), [&](const Incarnation& one) {
    return one.ended || timeline.now - one.begin > kLongestStart;
  });
}

// Warns of what the timeline cannot know: that the job's output was not read, or without result.
void WarnOfProfiles(Target& target, Report& report) {
  const auto any_by = [&](Evidence evidence) {
    return std::any_of(report.timeline.intervals.begin(), report.timeline.intervals.end(),
                       [&](const Interval& interval) { return interval.evidence == evidence; });
  };
  const std::vector<AttemptFacts>& attempts = report.run.facts.attempts;
  const bool measured = std::any_of(attempts.begin(), attempts.end(),
                                    [](const AttemptFacts& attempt) { return !attempt.collectives.empty(); });
  if (measured || any_by(Evidence::kLog)) return;
  // Marks take precedence over output.
  const bool marked = any_by(Evidence::kMark);
  const absl::StatusOr<std::vector<AskedProfile>> asked =
      AskedProfiles(target.session.db, target.session.config.log_profiles, target.jobs);
  if (!asked.ok()) return;
  for (const AskedProfile& one : *asked) {
    if (one.known) {
      if (!marked && Trained(report.timeline))
        report.timeline.warnings.push_back(Cat(
            "goodputd read no line of the job's output that matches log profile '", Printable(one.name),
            "': let sbatch or srun write the output to a file (--output; not to /dev/null or a pipe), check "
            "the file with sgoodput profile test ",
            Printable(one.name), " FILE, and goodputd with sgoodput doctor on the job's first node"));
      continue;
    }
    report.timeline.warnings.push_back(
        Cat("the job's output was not read: unknown log profile '", Printable(one.name), "'",
            one.meant.empty() ? "; see sgoodput profile list"
                              : Cat("; did you mean --goodput-log-profile=", one.meant, "?")));
  }
}

absl::Status FindMachines(Target& target, Report& report) {
  ASSIGN_OR_RETURN(const auto features, LoadNodeFeatures(target.session.db, report.run.info.cluster));
  report.provisions = ProvisionsOf(report, features);
  return absl::OkStatus();
}

absl::StatusOr<Report> ReportOn(Target& target, const ShowOptions& options) {
  absl::StatusOr<Report> report = MakeReport(target, {options.stall_factor});
  if (!report.ok()) return report.status();
  ASSIGN_OR_RETURN(const std::vector<TimeSpan> excluded, ParseWindows(options.exclude, absl::Now()));
  ExcludeFromReport(*report, excluded);
  report->run_inferred = target.inferred;
  // --explain prints neither.
  if (options.explain.empty() || options.common.json || !options.html.empty()) {
    RETURN_IF_ERROR(FindMachines(target, *report));
    report->what_to_do = WhatToDoAbout(*report);
  }
  WarnOfProfiles(target, *report);
  if (options.sensitivity) report->sensitivity = FindSensitivity(report->run.facts, {options.stall_factor});
  if (options.timeline || !options.html.empty())
    report->cells = CoarseTimeline(report->timeline.intervals, kMostCells);
  return report;
}

void PrintReport(Target& target, const Report& report, const ShowOptions& options,
                 const std::optional<Bucket>& bucket) {
  const Style style(UseColor(options.common.color));
  if (!bucket) {
    PrintAll(report, options.all, style);
    return;
  }
  Explain(report, *bucket, style);
  ExplainWhatIsGone(target);
}

absl::Status ShowOne(Target& target, const ShowOptions& options, const std::optional<Bucket>& bucket) {
  ASSIGN_OR_RETURN(const Report report, ReportOn(target, options));
  if (options.common.json) {
    std::fputs(ReportAsJson(report).c_str(), stdout);
  } else {
    PrintReport(target, report, options, bucket);
  }
  return absl::OkStatus();
}

// For more tasks of an array, use the list.
constexpr std::size_t kMostTasksShown = 10;

// One after the other, each as a run of its own.
absl::Status ShowTasks(Target& target, const ShowOptions& options, const std::optional<Bucket>& bucket) {
  const std::vector<JobKey> tasks = std::move(target.jobs);
  const bool all = options.common.json || options.all;
  JsonReports json(stdout);
  for (std::size_t i = 0; i < tasks.size() && (all || i < kMostTasksShown); ++i) {
    target.jobs = {tasks[i]};
    ASSIGN_OR_RETURN(const Report report, ReportOn(target, options));
    if (options.common.json) {
      json.Add(report);
      continue;
    }
    if (i > 0) std::printf("\n\n");
    PrintReport(target, report, options, bucket);
  }
  if (options.common.json) {
    json.Finish();
  } else if (!all && tasks.size() > kMostTasksShown) {
    std::printf("\n%zu more tasks of the array: --all shows them, sgoodput -j %s lists them\n",
                tasks.size() - kMostTasksShown, options.target.job.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int RunShow(const ShowOptions& options) {
  if (!options.exclude.empty() && (options.timeline || !options.html.empty() || options.sensitivity)) {
    return Fail(
        absl::InvalidArgumentError("--exclude cannot be used with --html, --timeline or --sensitivity"));
  }
  if (const auto windows = ParseWindows(options.exclude, absl::Now()); !windows.ok())
    return Fail(windows.status());
  const std::optional<Bucket> bucket = BucketFromName(options.explain);
  if (!options.explain.empty() && !bucket) {
    std::vector<std::string> names;
    for (const Bucket known : AllBuckets()) names.emplace_back(BucketName(known));
    return Fail(absl::InvalidArgumentError(
        Cat("--explain: unknown bucket '", options.explain, "'; buckets: ", absl::StrJoin(names, " "))));
  }
  // goodputd returns the run; the page is made here.
  if (const std::optional<std::string> url = RemoteUrl(options.common); url && !options.html.empty()) {
    RemoteQuestion question = QuestionAbout("show", options.target);
    question.parameters.emplace_back("timeline", "1");
    CommonOptions as_json = options.common;
    as_json.json = true;
    const absl::StatusOr<CommandResult> answer = AskAndWait(*url, as_json, question);
    if (!answer.ok()) return Fail(answer.status());
    std::fputs(answer->err.c_str(), stderr);
    return answer->exit_code != 0 ? answer->exit_code : WritePage(answer->out, options.html);
  }
  TargetOptions asked = options.target;
  asked.tasks = options.html.empty();
  absl::StatusOr<Target> target = OpenTarget(options.common, asked);
  if (!target.ok()) return Fail(target.status());
  const TargetOptions& of = options.target;
  const std::string what = of.job.empty() ? Cat("run ", of.run) : Cat("job ", of.job);
  if (!options.html.empty()) {
    const absl::StatusOr<Report> report = ReportOn(*target, options);
    return report.ok() ? WritePage(ReportAsJson(*report), options.html)
                       : Fail(Annotate(report.status(), what));
  }
  const absl::Status status =
      target->array && !asked.chain ? ShowTasks(*target, options, bucket) : ShowOne(*target, options, bucket);
  return status.ok() ? kAnswered : Fail(Annotate(status, what));
}

}  // namespace goodput
