// The head of `sgoodput show` and `sgoodput watch`: which run, its goodput, where the time went.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "sql/text.h"
#include "tools/accounting/report/machines_report.h"
#include "tools/accounting/timeline/exclude.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/base/format.h"
#include "tools/sgoodput/show_sections.h"

namespace goodput {
namespace {

constexpr int kBarWidth = 24;

// In eighths of a cell, so that a small bucket is visible.
std::string Bar(double fraction) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const long full = 8L * kBarWidth;
  const long eighths =
      std::clamp(std::lround(fraction * static_cast<double>(full)), fraction > 0 ? 1L : 0L, full);
  std::string bar;
  for (long i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

// For an import, only its last record is known.
const char* EndNote(const Report& report) {
  if (!report.timeline.running) return "";
  return report.run.info.job_id < 0 ? " (last record)" : " (now)";
}

std::string ExcludedWords(const Timeline& timeline) {
  const Ns wall = timeline.end - timeline.begin;
  const Ns excluded = wall - Included(timeline, timeline.begin, timeline.end);
  return excluded > 0 ? Cat(" (", FormatDuration(excluded), " of it excluded)") : "";
}

}  // namespace

void PrintHead(const Report& report, const Style& style) {
  const RunInfo& info = report.run.info;
  const Timeline& timeline = report.timeline;
  std::string head = info.run.empty() ? Cat("Job ", info.job_id_text)
                                      : Cat("Run ", info.run,
                                            info.job_id < 0 ? ", imported" : Cat(", job ", info.job_id_text));
  std::printf("%s  %s\n", style.Bold(Printable(head)).c_str(), Printable(info.name).c_str());
  const auto or_none = [](const std::string& text) { return text.empty() ? "-" : Printable(text); };
  std::string gpus;
  if (report.account.has_gpus) {
    gpus = Cat("  ", Counted(report.account.gpus, "GPU"),
               info.gpu_type.empty() ? "" : Cat(" (", info.gpu_type, ")"));
  }
  std::printf("user %s  account %s  partition %s  %s%s\n", or_none(info.user).c_str(),
              or_none(info.account).c_str(), or_none(info.partition).c_str(), info.state.c_str(),
              gpus.c_str());
  std::printf("%s to %s%s, wall %s, %s\n", FormatTime(timeline.begin).c_str(),
              FormatTime(timeline.end).c_str(), EndNote(report),
              Cat(FormatDuration(timeline.end - timeline.begin), ExcludedWords(timeline)).c_str(),
              Counted(static_cast<std::int64_t>(timeline.attempts.size()), "attempt").c_str());
  if (const std::optional<Ns> since = NoProgressSince(timeline)) {
    std::printf("%s since %s\n",
                style.Bold(Cat("No progress for ", FormatDuration(timeline.end - *since))).c_str(),
                FormatTime(*since).c_str());
  }
  if (const std::string machines = MachinesInWords(report); !machines.empty())
    std::fputs(Wrap(Cat("machines: ", Printable(machines)), "").c_str(), stdout);
  if (!report.run_inferred.empty())
    std::fputs(Wrap(Cat("inferred: ", Printable(report.run_inferred)), "").c_str(), stdout);
  std::printf("\n");
}

// What to add so that steps are seen.
std::string_view WhyNoSteps(const Report& report) {
  if (report.run.info.state == "REVOKED")
    return "no steps seen here: another cluster of the federation ran the job, and has its record";
  if (report.run.info.job_id < 0)
    return "no steps seen: see what a profile finds in the log (sgoodput profile test auto LOG), or write "
           "one "
           "(sgoodput profile learn LOG)";
  if (!report.timeline.checkpoints.empty())
    return "no steps seen, only checkpoints: add --goodput-log-profile=NAME, or send marks (sgoodput mark "
           "--help), or put the step into the checkpoint's name (step_100.pt)";
  if (report.run.info.checkpoint_dir)
    return "no steps seen, and no checkpoints in its --goodput-checkpoint-dir: add "
           "--goodput-log-profile=NAME, "
           "or send marks (sgoodput mark --help)";
  return "no steps seen: add --goodput-log-profile=NAME or --goodput-checkpoint-dir=PATH, or send marks "
         "(sgoodput mark --help)";
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
    std::fputs(
        Wrap(Cat("program goodput is not known: ", Printable(report.program_reason)), "         ").c_str(),
        stdout);
  }
  if (goodput.runtime_range && goodput.runtime_range->second - goodput.runtime_range->first > 0.0005) {
    std::fputs(Wrap(Cat("runtime is between ", FormatPercent(goodput.runtime_range->first), " and ",
                        FormatPercent(goodput.runtime_range->second),
                        ": at-risk steps and unobserved time may or may not count"),
                    "         ")
                   .c_str(),
               stdout);
  }
  if (report.timeline.steps.executed == 0) {
    std::fputs(Wrap(WhyNoSteps(report), "         ").c_str(), stdout);
  }
  std::printf("\n");
}

void PrintBuckets(const Report& report, const Style& style) {
  const Ns wall = std::max<Ns>(1, Included(report.timeline, report.timeline.begin, report.timeline.end));
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

}  // namespace goodput
