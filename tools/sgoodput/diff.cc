// `sgoodput diff`: what changed between two runs, bucket by bucket: a preloaded image, a compile cache,
// another checkpoint interval.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/style.h"

namespace goodput {
namespace {

// One bucket, or one part of it, in both runs.
struct Row {
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // empty: the whole bucket
  Ns a = 0;
  Ns b = 0;
};

std::vector<Row> RowsOf(const Account& a, const Account& b) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < a.buckets.size(); ++i) {
    const BucketTotal& first = a.buckets[i];
    const BucketTotal& second = b.buckets[i];
    rows.push_back({first.bucket, "", first.ns, second.ns});
    std::vector<Row> parts;
    const auto part = [&](const std::string& name) -> Row& {
      const auto found =
          std::find_if(parts.begin(), parts.end(), [&](const Row& row) { return row.part == name; });
      if (found != parts.end()) return *found;
      parts.push_back({first.bucket, name, 0, 0});
      return parts.back();
    };
    for (const BucketTotal& total : first.parts) part(total.part).a += total.ns;
    for (const BucketTotal& total : second.parts) part(total.part).b += total.ns;
    rows.insert(rows.end(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
  }
  return rows;
}

Ns Wanted(const Account& account) {
  Ns sum = 0;
  for (const BucketTotal& total : account.buckets) {
    if (BucketSide(total.bucket) != Side::kExcluded) sum += total.ns;
  }
  return sum;
}

std::string Change(Ns ns) {
  if (ns == 0) return "=";
  return Cat(ns < 0 ? "-" : "+", FormatDuration(std::abs(ns)));
}

std::string Name(const Report& report) {
  return Printable(report.run.info.run.empty() ? Cat("job ", report.run.info.job_id_text)
                                               : Cat("run ", report.run.info.run));
}

std::string Share(Ns ns, Ns of) {
  return of > 0 ? FormatPercent(static_cast<double>(ns) / static_cast<double>(of)) : "-";
}

void PrintHead(const Report& a, const Report& b, const Style& style) {
  for (const Report* report : {&a, &b}) {
    const auto& timeline = report->timeline;
    const auto count = [](std::size_t n, const char* one) {
      return Counted(static_cast<std::int64_t>(n), one);
    };
    std::printf("%s  %s  %s, %s, %s of the program, %s\n", report == &a ? "A" : "B",
                style.Bold(Name(*report)).c_str(), Printable(report->run.info.name).c_str(),
                count(timeline.attempts.size(), "attempt").c_str(),
                count(timeline.incarnations.size(), "start").c_str(),
                Counted(report->account.gpus, "GPU").c_str());
  }
  if (a.account.gpus != b.account.gpus)
    std::printf("A and B had different numbers of GPUs: compare shares, not seconds\n");
  std::printf("\n");
}

void PrintBuckets(const std::vector<Row>& rows, const Account& a, const Account& b) {
  const Ns wanted_a = Wanted(a);
  const Ns wanted_b = Wanted(b);
  using Align = Table::Align;
  Table table({{"Bucket"},
               {"A", Align::kRight},
               {"B", Align::kRight},
               {"Change", Align::kRight},
               {"Share of A", Align::kRight},
               {"Share of B", Align::kRight}});
  for (const Row& row : rows) {
    if (row.a == 0 && row.b == 0) continue;
    const std::string name =
        row.part.empty() ? std::string(BucketName(row.bucket)) : Cat("  ", Printable(row.part));
    table.Add({name, FormatDuration(row.a), FormatDuration(row.b), Change(row.b - row.a),
               Share(row.a, wanted_a), Share(row.b, wanted_b)});
  }
  table.Add({"total wanted", FormatDuration(wanted_a), FormatDuration(wanted_b), Change(wanted_b - wanted_a),
             "", ""});
  std::printf("%s\n\n", table.Render(true).c_str());
}

// The average cost of a start of the program.
void PrintStarts(const std::vector<Row>& rows, const Report& a, const Report& b) {
  const auto starts_a = static_cast<Ns>(a.timeline.incarnations.size());
  const auto starts_b = static_cast<Ns>(b.timeline.incarnations.size());
  if (starts_a == 0 || starts_b == 0) return;
  std::string text;
  for (const Row& row : rows) {
    if (row.bucket != Bucket::kLaunch && row.bucket != Bucket::kStartup) continue;
    if (row.a == 0 && row.b == 0) continue;
    text += Cat("  ", BucketName(row.bucket), row.part.empty() ? "" : " ", Printable(row.part), "  ",
                FormatDuration(row.a / starts_a), " -> ", FormatDuration(row.b / starts_b), "\n");
  }
  if (!text.empty()) std::printf("Average per start of the program\n%s\n", text.c_str());
}

void PrintGoodput(const Report& a, const Report& b) {
  const auto line = [](const char* name, const std::optional<double>& x, const std::optional<double>& y) {
    if (!x && !y) return;
    const std::string points = x && y ? absl::StrFormat("  %+.1f points", 100 * (*y - *x)) : "";
    std::printf("  %-10s  %s -> %s%s\n", name, FormatPercent(x).c_str(), FormatPercent(y).c_str(),
                points.c_str());
  };
  const Goodput& x = a.account.goodput;
  const Goodput& y = b.account.goodput;
  std::printf("Goodput\n");
  line("scheduling", x.scheduling, y.scheduling);
  line("runtime", x.runtime, y.runtime);
  line("program", x.program, y.program);
  line("sg_rg", x.sg_rg, y.sg_rg);
  line("mpg", x.mpg, y.mpg);
  const std::optional<Ns> step_a = a.timeline.steps.median;
  const std::optional<Ns> step_b = b.timeline.steps.median;
  if (step_a && step_b && *step_a > 0) {
    std::printf("  %-10s  %.3fs -> %.3fs  %+.1f %%\n", "a step", static_cast<double>(*step_a) / 1e9,
                static_cast<double>(*step_b) / 1e9,
                100 * (static_cast<double>(*step_b) / static_cast<double>(*step_a) - 1));
  }
}

std::string SecondsText(Ns ns) {
  return absl::StrFormat("%s%d.%09d", ns < 0 ? "-" : "", std::abs(ns) / kSecond, std::abs(ns) % kSecond);
}

std::string FractionText(const std::optional<double>& x) {
  return x ? absl::StrFormat("%.9f", *x) : "null";
}

std::string RunJson(const Report& report) {
  const Goodput& goodput = report.account.goodput;
  const std::string job = report.run.info.job_id > 0 ? Cat(report.run.info.job_id) : "null";
  return Cat("{\"job_id\":", job, ",\"run\":", QuotedJson(report.run.info.run),
             ",\"name\":", QuotedJson(report.run.info.name), ",\"gpus\":", report.account.gpus,
             ",\"attempts\":", report.timeline.attempts.size(),
             ",\"starts\":", report.timeline.incarnations.size(),
             ",\"wanted_s\":", SecondsText(Wanted(report.account)), ",\"median_step_s\":",
             report.timeline.steps.median ? SecondsText(*report.timeline.steps.median) : "null",
             ",\"scheduling\":", FractionText(goodput.scheduling),
             ",\"runtime\":", FractionText(goodput.runtime)) +
         Cat(",\"program\":", FractionText(goodput.program), ",\"sg_rg\":", FractionText(goodput.sg_rg),
             ",\"mpg\":", FractionText(goodput.mpg), "}");
}

void PrintJson(const std::vector<Row>& rows, const Report& a, const Report& b) {
  std::string text =
      Cat("{\"schema\":\"slurm-goodput-diff/1\",\"a\":", RunJson(a), ",\"b\":", RunJson(b), ",\"buckets\":[");
  bool parts = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::string numbers = Cat("\"a_s\":", SecondsText(row.a), ",\"b_s\":", SecondsText(row.b),
                                    ",\"change_s\":", SecondsText(row.b - row.a));
    if (row.part.empty()) {
      if (i > 0) text += "]},";
      text += Cat("{\"name\":\"", BucketName(row.bucket), "\",\"side\":\"", SideName(BucketSide(row.bucket)),
                  "\",", numbers, ",\"parts\":[");
      parts = false;
    } else {
      text +=
          Cat(std::exchange(parts, true) ? "," : "", "{\"name\":", QuotedJson(row.part), ",", numbers, "}");
    }
  }
  std::printf("%s]}]}\n", text.c_str());
}

absl::StatusOr<Report> ReportOf(const DiffOptions& options, const std::string& text) {
  TargetOptions asked;
  asked.job = text;
  asked.cluster = options.cluster;
  ASSIGN_OR_RETURN(Target target, OpenTarget(options.common, asked));
  absl::StatusOr<Report> report = MakeReport(target, {options.stall_factor});
  if (!report.ok()) return Annotate(report.status(), text);
  return report;
}

}  // namespace

int RunDiff(const DiffOptions& options) {
  const absl::StatusOr<Report> a = ReportOf(options, options.a);
  if (!a.ok()) return Fail(a.status());
  const absl::StatusOr<Report> b = ReportOf(options, options.b);
  if (!b.ok()) return Fail(b.status());
  const std::vector<Row> rows = RowsOf(a->account, b->account);
  if (options.common.json) {
    PrintJson(rows, *a, *b);
    return kAnswered;
  }
  PrintHead(*a, *b, Style(UseColor(options.common.color)));
  PrintBuckets(rows, a->account, b->account);
  PrintStarts(rows, *a, *b);
  PrintGoodput(*a, *b);
  return kAnswered;
}

}  // namespace goodput
