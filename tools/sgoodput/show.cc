// `sgoodput show`: one run on a screen, and `--explain BUCKET`: its intervals with their evidence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/show_sections.h"
#include "tools/sgoodput/style.h"
#include "tools/timeline/sensitivity.h"

namespace goodput {
namespace {

constexpr int kBarWidth = 24;

// Eighths of a cell, so that a small bucket still shows.
std::string Bar(double fraction) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const long full = 8L * kBarWidth;
  const long eighths =
      std::clamp(std::lround(fraction * static_cast<double>(full)), fraction > 0 ? 1L : 0L, full);
  std::string bar;
  for (long i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

// Of an import nobody knows more than what it said last.
const char* EndNote(const Report& report) {
  if (!report.timeline.running) return "";
  return report.run.info.job_id < 0 ? " (last heard of)" : " (now)";
}

void PrintHead(const Report& report, const Style& style) {
  const RunInfo& info = report.run.info;
  const Timeline& timeline = report.timeline;
  std::string head = info.run.empty() ? Cat("Job ", info.job_id_text)
                                      : Cat("Run ", info.run,
                                            info.job_id < 0 ? ", imported" : Cat(", job ", info.job_id_text));
  std::printf("%s  %s\n", style.Bold(Printable(head)).c_str(), Printable(info.name).c_str());
  std::printf("user %s  account %s  partition %s  %s%s\n", Printable(info.user).c_str(),
              info.account.empty() ? "-" : Printable(info.account).c_str(), Printable(info.partition).c_str(),
              info.state.c_str(),
              report.account.has_gpus ? Cat("  ", report.account.gpus, " GPUs",
                                            info.gpu_type.empty() ? "" : Cat(" (", info.gpu_type, ")"))
                                            .c_str()
                                      : "");
  std::printf("%s to %s%s, wall %s, %d attempt%s\n", FormatTime(timeline.begin).c_str(),
              FormatTime(timeline.end).c_str(), EndNote(report),
              FormatDuration(timeline.end - timeline.begin).c_str(),
              static_cast<int>(timeline.attempts.size()), timeline.attempts.size() == 1 ? "" : "s");
  if (!report.run_inferred.empty())
    std::fputs(Wrap(Cat("inferred: ", Printable(report.run_inferred)), "").c_str(), stdout);
  std::printf("\n");
}

void PrintGoodput(const Report& report, const Style& style) {
  const Goodput& goodput = report.account.goodput;
  std::printf("%s  scheduling %s x runtime %s = %s\n", style.Bold("Goodput").c_str(),
              FormatPercent(goodput.scheduling).c_str(), FormatPercent(goodput.runtime).c_str(),
              style.Bold(FormatPercent(goodput.sg_rg)).c_str());
  if (goodput.program) {
    std::printf("         x program %s = %s (MPG)\n", FormatPercent(goodput.program).c_str(),
                style.Bold(FormatPercent(goodput.mpg)).c_str());
    std::fputs(Wrap(Cat("program: ", Printable(report.program_evidence)), "         ").c_str(), stdout);
  } else if (!report.run.flops.empty()) {
    std::fputs(Wrap(Cat("program is not known: ", Printable(report.program_reason)), "         ").c_str(),
               stdout);
  }
  if (goodput.runtime_range && goodput.runtime_range->second - goodput.runtime_range->first > 0.0005) {
    std::fputs(Wrap(Cat("runtime is between ", FormatPercent(goodput.runtime_range->first), " and ",
                        FormatPercent(goodput.runtime_range->second),
                        ": steps at risk and unobserved time are open"),
                    "         ")
                   .c_str(),
               stdout);
  }
  if (report.timeline.steps.executed == 0) {
    std::printf("         no steps seen: the program sends no marks (see sgoodput mark)\n");
  }
  std::printf("\n");
}

void PrintBuckets(const Report& report, const Style& style) {
  const Ns wall = std::max<Ns>(1, report.timeline.end - report.timeline.begin);
  std::printf("%s\n", style.Bold("Where the time went").c_str());
  for (const BucketTotal& total : report.account.buckets) {
    if (total.ns == 0) continue;
    const double fraction = static_cast<double>(total.ns) / static_cast<double>(wall);
    const std::string bar = Bar(fraction);
    std::printf("  %-16s %8s %6s  %s  %s\n", std::string(BucketName(total.bucket)).c_str(),
                FormatDuration(total.ns).c_str(), FormatPercent(fraction).c_str(),
                std::string(EvidenceName(total.evidence))
                    .append(10 - EvidenceName(total.evidence).size(), ' ')
                    .c_str(),
                style.Side(BucketSide(total.bucket), bar).c_str());
    const bool alone = total.parts.size() == 1 && total.parts.front().ns == total.ns;
    for (const BucketTotal& part : total.parts) {
      if (alone && part.bucket == Bucket::kUnobserved) continue;
      std::printf("    %-14s %8s\n", Printable(part.part).c_str(), FormatDuration(part.ns).c_str());
    }
  }
  std::printf("\n");
}

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
  return Cat(report.run.facts.sources[static_cast<std::size_t>(ref.source)].name, ":", ref.offset);
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

}  // namespace

int RunShow(const ShowOptions& options) {
  const std::optional<Bucket> bucket = BucketFromName(options.explain);
  if (!options.explain.empty() && !bucket) {
    std::vector<std::string> names;
    for (const Bucket known : AllBuckets()) names.emplace_back(BucketName(known));
    return Fail(absl::InvalidArgumentError(Cat("--explain: there is no bucket '", options.explain,
                                               "'; buckets are ", absl::StrJoin(names, " "))));
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
  if (options.common.json) {
    PrintReportAsJson(*report);
    return kAnswered;
  }
  const Style style(UseColor(options.common.color));
  if (bucket) {
    Explain(*report, *bucket, style);
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
