// `sgoodput show`: one run on a screen, and `--explain BUCKET`: its intervals with their evidence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/summaries.h"
#include "sql/text.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/show_sections.h"
#include "tools/sgoodput/style.h"
#include "tools/timeline/sensitivity.h"

namespace goodput {
namespace {

// Of a timeline: twice what a screen has columns, so that it can be looked at more closely.
constexpr std::size_t kMostCells = 4000;

void PrintAttempts(const Report& report, const Style& style) {
  const std::vector<AttemptSummary>& attempts = report.timeline.attempts;
  // Where they are all of one job its id is in the head, and a line has 80 columns.
  const bool several = std::any_of(attempts.begin(), attempts.end(), [&](const AttemptSummary& attempt) {
    return attempt.facts->job_id != attempts.front().facts->job_id;
  });
  std::vector<Table::Column> columns = {{"#", Table::Align::kRight}};
  if (several) columns.push_back({"JobID", Table::Align::kRight});
  for (const Table::Column& column : std::vector<Table::Column>{{"Submit"},
                                                                {"Start"},
                                                                {"End"},
                                                                {"State"},
                                                                {"Nodes", Table::Align::kRight},
                                                                {"GPUs", Table::Align::kRight},
                                                                {"Steps", Table::Align::kRight},
                                                                {"Kept", Table::Align::kRight}}) {
    columns.push_back(column);
  }
  Table table(std::move(columns));
  const auto clock = [](const std::optional<Ns>& t) {
    return t ? FormatTime(*t).substr(11) : std::string("-");
  };
  int number = 0;
  for (const AttemptSummary& attempt : attempts) {
    const AttemptFacts& facts = *attempt.facts;
    std::string steps = "-";
    if (attempt.first_step && attempt.last_step) steps = Cat(*attempt.first_step, "-", *attempt.last_step);
    std::vector<std::string> cells = {Cat(++number)};
    if (several) cells.push_back(FormatJobId(facts.job_id));
    for (const std::string& cell :
         {FormatTime(facts.submit).substr(5, 11), clock(facts.start), clock(facts.end), facts.state,
          Cat(facts.nodes), Cat(facts.gpus), steps, attempt.kept_step ? Cat(*attempt.kept_step) : "-"}) {
      cells.push_back(cell);
    }
    table.Add(std::move(cells));
  }
  std::printf("%s\n%s\n", style.Bold("Attempts").c_str(), table.Render(true, "  ").c_str());
}

void PrintInterruptions(const Report& report, const Style& style) {
  if (report.timeline.interruptions.empty()) return;
  std::printf("%s\n", style.Bold("Interruptions").c_str());
  for (const Interruption& interruption : report.timeline.interruptions) {
    std::printf("  %s  %s%s%s, attempt %d\n", FormatTime(interruption.time).substr(11).c_str(),
                style.Bold(interruption.cause).c_str(), interruption.planned ? ", planned" : "",
                interruption.node.empty() ? "" : Cat(", node ", Printable(interruption.node)).c_str(),
                interruption.attempt + 1);
    std::fputs(
        Wrap(Cat("since checkpoint ", FormatDuration(interruption.t_ch), "; noticed +",
                 FormatDuration(interruption.t_detect), ", resources +", FormatDuration(interruption.t_re),
                 ", first step +", FormatDuration(interruption.t_rm)),
             "    ")
            .c_str(),
        stdout);
    std::fputs(Wrap(Printable(absl::StrJoin(interruption.evidence, "; ")), "    ").c_str(), stdout);
  }
  std::printf("\n");
}

void PrintSteps(const Report& report, const Style& style) {
  const StepCounts& steps = report.timeline.steps;
  if (steps.executed == 0) return;
  const auto complete =
      std::count_if(report.timeline.checkpoints.begin(), report.timeline.checkpoints.end(),
                    [](const Checkpoint& checkpoint) { return checkpoint.complete.has_value(); });
  std::printf(
      "%s  %lld executed, %lld kept, %lld lost, %lld at risk; median %s\n", style.Bold("Steps").c_str(),
      static_cast<long long>(steps.executed), static_cast<long long>(steps.kept),
      static_cast<long long>(steps.lost), static_cast<long long>(steps.at_risk),
      steps.median ? absl::StrFormat("%.3fs", static_cast<double>(*steps.median) / 1e9).c_str() : "-");
  std::printf("       %lld of %zu checkpoints complete\n", static_cast<long long>(complete),
              report.timeline.checkpoints.size());
  PrintLastStep(report);
  std::printf("\n");
}

std::string RefText(const Report& report, const EvidenceRef& ref) {
  if (ref.source < 0) return "-";
  return Cat(report.run.facts.SourceName(static_cast<std::size_t>(ref.source)), ":", ref.offset);
}

void Explain(const Report& report, Bucket bucket, const Style& style) {
  std::printf("%s: %s\n\n", style.Bold(std::string(BucketName(bucket))).c_str(),
              std::string(BucketMeaning(bucket)).c_str());
  Table table({{"Begin"},
               {"Seconds", Table::Align::kRight},
               {"Attempt", Table::Align::kRight},
               {"Part"},
               {"Evidence"},
               {"From record"},
               {"To record"},
               {"Why"}});
  Ns sum = 0;
  for (const Interval& interval : report.timeline.intervals) {
    if (interval.bucket != bucket) continue;
    const Ns ns = interval.end - interval.begin;
    sum += ns;
    table.Add({absl::StrFormat("%s.%03d", FormatTime(interval.begin), interval.begin % kSecond / 1'000'000),
               absl::StrFormat("%.3f", static_cast<double>(ns) / 1e9),
               interval.attempt >= 0 ? Cat(interval.attempt + 1) : "-", Printable(interval.part),
               std::string(EvidenceName(interval.evidence)), RefText(report, interval.from),
               RefText(report, interval.to), Printable(interval.why)});
  }
  std::printf("%s\n", table.Render(true).c_str());
  std::printf("%s in all. A record is NODE/FILE:OFFSET below the spool; '-' is Slurm's own record.\n",
              FormatDuration(sum).c_str());
}

void ExplainWhatIsGone(Target& target) {
  const absl::StatusOr<std::optional<std::int64_t>> since = SummarizedSince(target.session.db, target.jobs);
  if (!since.ok() || !*since) return;
  std::printf("Records of its nodes were replaced by a summary of them at %s (keep_events).\n",
              FormatTime(**since * kSecond).c_str());
}

}  // namespace

int RunShow(const ShowOptions& options) {
  const std::optional<Bucket> bucket = BucketFromName(options.explain);
  if (!options.explain.empty() && !bucket) {
    std::vector<std::string> names;
    for (const Bucket known : AllBuckets()) names.emplace_back(BucketName(known));
    return Fail(absl::InvalidArgumentError(Cat("--explain: there is no bucket '", options.explain,
                                               "'; buckets are ", absl::StrJoin(names, " "))));
  }
  // goodputd tells the run, the page is made here.
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
  absl::StatusOr<Target> target = OpenTarget(options.common, options.target);
  if (!target.ok()) return Fail(target.status());
  absl::StatusOr<Report> report = MakeReport(*target, {options.stall_factor});
  if (!report.ok()) {
    return Fail(Annotate(report.status(), options.target.job.empty() ? Cat("run ", options.target.run)
                                                                     : Cat("job ", options.target.job)));
  }
  report->run_inferred = target->inferred;
  if (options.sensitivity) report->sensitivity = FindSensitivity(report->run.facts, {options.stall_factor});
  if (options.timeline || !options.html.empty())
    report->cells = CoarseTimeline(report->timeline.intervals, kMostCells);
  if (!options.html.empty()) return WritePage(ReportAsJson(*report), options.html);
  if (options.common.json) {
    std::fputs(ReportAsJson(*report).c_str(), stdout);
    return kAnswered;
  }
  const Style style(UseColor(options.common.color));
  if (bucket) {
    Explain(*report, *bucket, style);
    ExplainWhatIsGone(*target);
    return kAnswered;
  }
  PrintHead(*report, style);
  PrintGoodput(*report, style);
  PrintBuckets(*report, style);
  PrintAttempts(*report, style);
  PrintInterruptions(*report, style);
  PrintStalls(*report, style);
  PrintSignals(*report, style);
  PrintSteps(*report, style);
  PrintDefinitions(*report, style);
  if (!report->sensitivity.empty()) PrintSensitivity(report->sensitivity, style);
  PrintProof(*report, style);
  for (const std::string& warning : report->timeline.warnings)
    std::fputs(Wrap(Cat("warning: ", warning), "").c_str(), stdout);
  return kAnswered;
}

}  // namespace goodput
