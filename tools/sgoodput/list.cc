// `sgoodput` without a subcommand: one line per run, filtered and formatted as in sacct.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

struct Field {
  const char* name;
  Table::Align align;
  std::size_t width;  // in a table; parsable output is never cut
  std::function<std::string(const Report&)> value;
};

std::string Raw(const std::optional<double>& x) {
  return x ? absl::StrFormat("%.4f", *x) : "";
}

const AttemptFacts* LastAttempt(const Report& report) {
  return report.timeline.attempts.empty() ? nullptr : report.timeline.attempts.back().facts;
}

std::string FirstTime(const Report& report, std::optional<Ns> AttemptFacts::*member) {
  for (const AttemptSummary& attempt : report.timeline.attempts) {
    if (attempt.facts->*member) return FormatTime(attempt.facts->*member);
  }
  return "Unknown";
}

// How long nodes were held, over all attempts.
Ns Elapsed(const Report& report) {
  Ns sum = 0;
  for (const AttemptSummary& attempt : report.timeline.attempts) {
    if (attempt.facts->start)
      sum += std::max<Ns>(0, attempt.facts->end.value_or(report.timeline.now) - *attempt.facts->start);
  }
  return sum;
}

// In sacct's format: 1-02:03:04.
std::string AsSlurm(Ns ns) {
  const std::int64_t seconds = ns / kSecond;
  const std::string clock =
      absl::StrFormat("%02d:%02d:%02d", seconds % 86400 / 3600, seconds % 3600 / 60, seconds % 60);
  return seconds < 86400 ? clock : Cat(seconds / 86400, "-", clock);
}

std::string ExitCode(const Report& report) {
  const AttemptFacts* last = LastAttempt(report);
  if (last == nullptr || (!last->exit_code && !last->exit_signal)) return "";
  return Cat(last->exit_code.value_or(0), ":", last->exit_signal.value_or(0));
}

GpuNs AllocatedGpuTime(const Report& report) {
  if (!report.account.has_gpus) return 0;
  GpuNs sum = 0;
  for (const BucketTotal& total : report.account.buckets) {
    const Side side = BucketSide(total.bucket);
    const bool held = total.bucket == Bucket::kProvisioning || total.bucket == Bucket::kSuspended;
    if (held || (side != Side::kExcluded && side != Side::kScheduling)) sum += total.gpu_ns;
  }
  return sum;
}

const std::vector<Field>& Fields() {
  using Align = Table::Align;
  const auto bucket = [](Bucket which) {
    return [which](const Report& r) {
      return FormatDuration(r.account.buckets[static_cast<std::size_t>(which)].ns);
    };
  };
  static const std::vector<Field> fields = [&] {
    std::vector<Field> all{
        {"JobID", Align::kRight, 0, [](const Report& r) { return r.run.info.job_id_text; }},
        {"Cluster", Align::kLeft, 12, [](const Report& r) { return r.run.info.cluster; }},
        {"Run", Align::kLeft, 20, [](const Report& r) { return r.run.info.run; }},
        {"JobName", Align::kLeft, 16, [](const Report& r) { return r.run.info.name; }},
        {"User", Align::kLeft, 10, [](const Report& r) { return r.run.info.user; }},
        {"Account", Align::kLeft, 12, [](const Report& r) { return r.run.info.account; }},
        {"Partition", Align::kLeft, 10, [](const Report& r) { return r.run.info.partition; }},
        {"QOS", Align::kLeft, 10, [](const Report& r) { return r.run.info.qos; }},
        {"State", Align::kLeft, 12, [](const Report& r) { return r.run.info.state; }},
        {"Submit", Align::kLeft, 0, [](const Report& r) { return FormatTime(r.timeline.begin); }},
        {"Eligible", Align::kLeft, 0, [](const Report& r) { return FirstTime(r, &AttemptFacts::eligible); }},
        {"Start", Align::kLeft, 0, [](const Report& r) { return FirstTime(r, &AttemptFacts::start); }},
        {"End", Align::kLeft, 0,
         [](const Report& r) {
           return r.timeline.running ? std::string("Unknown") : FormatTime(r.timeline.end);
         }},
        {"Wall", Align::kRight, 0,
         [](const Report& r) { return FormatDuration(r.timeline.end - r.timeline.begin); }},
        {"WallRaw", Align::kRight, 0,
         [](const Report& r) { return Cat((r.timeline.end - r.timeline.begin) / kSecond); }},
        {"Elapsed", Align::kRight, 0, [](const Report& r) { return AsSlurm(Elapsed(r)); }},
        {"ElapsedRaw", Align::kRight, 0, [](const Report& r) { return Cat(Elapsed(r) / kSecond); }},
        {"Timelimit", Align::kRight, 0,
         [](const Report& r) {
           const AttemptFacts* last = LastAttempt(r);
           return last == nullptr || !last->time_limit ? "" : AsSlurm(*last->time_limit);
         }},
        {"ExitCode", Align::kRight, 0, ExitCode},
        {"NodeList", Align::kLeft, 20,
         [](const Report& r) { return LastAttempt(r) == nullptr ? "" : LastAttempt(r)->node_list; }},
        {"Reservation", Align::kLeft, 12, [](const Report& r) { return r.run.info.reservation; }},
        {"GPUHours", Align::kRight, 0,
         [](const Report& r) {
           return absl::StrFormat("%.2f", static_cast<double>(AllocatedGpuTime(r)) / 3600e9);
         }},
        {"Attempts", Align::kRight, 0, [](const Report& r) { return Cat(r.timeline.attempts.size()); }},
        {"Interrupts", Align::kRight, 0,
         [](const Report& r) { return Cat(r.timeline.interruptions.size()); }},
        {"NNodes", Align::kRight, 0,
         [](const Report& r) {
           return Cat(r.timeline.attempts.empty() ? 0 : r.timeline.attempts.back().facts->nodes);
         }},
        {"GPUs", Align::kRight, 0, [](const Report& r) { return Cat(r.account.gpus); }},
        {"Scheduling", Align::kRight, 0,
         [](const Report& r) { return FormatPercent(r.account.goodput.scheduling); }},
        {"Sched", Align::kRight, 0,
         [](const Report& r) { return FormatPercent(r.account.goodput.scheduling); }},
        {"Runtime", Align::kRight, 0,
         [](const Report& r) { return FormatPercent(r.account.goodput.runtime); }},
        {"Goodput", Align::kRight, 0, [](const Report& r) { return FormatPercent(r.account.goodput.sg_rg); }},
        {"Program", Align::kRight, 0,
         [](const Report& r) { return FormatPercent(r.account.goodput.program); }},
        {"MPG", Align::kRight, 0, [](const Report& r) { return FormatPercent(r.account.goodput.mpg); }},
        {"SchedulingRaw", Align::kRight, 0,
         [](const Report& r) { return Raw(r.account.goodput.scheduling); }},
        {"RuntimeRaw", Align::kRight, 0, [](const Report& r) { return Raw(r.account.goodput.runtime); }},
        {"GoodputRaw", Align::kRight, 0, [](const Report& r) { return Raw(r.account.goodput.sg_rg); }},
        {"ProgramRaw", Align::kRight, 0, [](const Report& r) { return Raw(r.account.goodput.program); }},
        {"MPGRaw", Align::kRight, 0, [](const Report& r) { return Raw(r.account.goodput.mpg); }},
        {"Steps", Align::kRight, 0, [](const Report& r) { return Cat(r.timeline.steps.executed); }},
        {"StepsKept", Align::kRight, 0, [](const Report& r) { return Cat(r.timeline.steps.kept); }},
        {"NoProgress", Align::kRight, 0,
         [](const Report& r) {
           const std::optional<Ns> since = NoProgressSince(r.timeline);
           return since ? FormatDuration(r.timeline.end - *since) : std::string();
         }},
        {"StepsLost", Align::kRight, 0, [](const Report& r) { return Cat(r.timeline.steps.lost); }},
    };
    static std::array<std::string, kBucketCount> names;
    for (const Bucket which : AllBuckets()) {
      std::string& name = names[static_cast<std::size_t>(which)];
      name = std::string(BucketName(which));
      all.push_back({name.c_str(), Align::kRight, 0, bucket(which)});
    }
    return all;
  }();
  return fields;
}

// The fields that scripts get, and those that fit a terminal of 80 columns.
constexpr const char* kDefaultFields =
    "JobID,JobName,User,Partition,State,Wall,Attempts,Scheduling,Runtime,Goodput";
constexpr const char* kDefaultTable = "JobID,JobName%-10,User%-8,State%-10,Wall,Sched,Runtime,Goodput";
constexpr const char* kBrief = "JobID,State,ExitCode,Goodput";

bool ForScripts(const ListOptions& options) {
  return options.parsable || options.parsable2 || options.csv;
}

// All but the buckets, each once.
std::string LongFormat() {
  std::string format;
  for (const Field& field : Fields()) {
    if (std::string_view(field.name) == "Sched" || BucketFromName(field.name)) continue;
    format += Cat(format.empty() ? "" : ",", field.name);
  }
  return format;
}

std::vector<std::string> FormatOf(const ListOptions& options) {
  if (!options.format.empty()) return options.format;
  if (options.brief) return {kBrief};
  if (options.all_fields) return {LongFormat()};
  return {ForScripts(options) ? kDefaultFields : kDefaultTable};
}

// sacct's `-o name%20`: a width; negative is left-aligned.
absl::StatusOr<std::vector<std::pair<Field, int>>> ChooseFields(const std::vector<std::string>& format) {
  std::vector<std::pair<Field, int>> chosen;
  for (const std::string& list : format) {
    for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      const std::size_t percent = word.find('%');
      const absl::string_view name = word.substr(0, percent);
      int width = 0;
      if (percent != absl::string_view::npos && !absl::SimpleAtoi(word.substr(percent + 1), &width)) {
        return absl::InvalidArgumentError(
            Cat("-o: '", std::string(word), "' has no valid width after %; example: JobName%30"));
      }
      const auto found = std::find_if(Fields().begin(), Fields().end(), [&](const Field& field) {
        return absl::EqualsIgnoreCase(field.name, name);
      });
      if (found == Fields().end()) {
        return absl::InvalidArgumentError(
            Cat("-o: unknown field '", std::string(name), "'; see sgoodput --helpformat"));
      }
      chosen.emplace_back(*found, width);
    }
  }
  return chosen;
}

void PrintFields() {
  int column = 0;
  for (const Field& field : Fields()) std::printf("%-18s%s", field.name, ++column % 4 == 0 ? "\n" : "");
  if (column % 4 != 0) std::printf("\n");
}

std::string Line(const ListOptions& options, const std::vector<std::string>& cells) {
  if (options.csv) return CsvLine(cells);
  std::string line = ParsableLine(cells);
  if (!options.parsable2) line.insert(line.size() - 1, "|");
  return line;
}

// Prints rows as they come, or all at the end if their widths or order depend on each other.
class Rows {
 public:
  Rows(const ListOptions& options, const std::vector<std::pair<Field, int>>& fields)
      : options_(options), streams_(ForScripts(options) && options.sort.empty()) {
    for (const auto& [field, width] : fields) {
      titles_.emplace_back(field.name);
      columns_.push_back({field.name, width < 0 ? Table::Align::kLeft : field.align,
                          width != 0 ? static_cast<std::size_t>(std::abs(width)) : field.width});
    }
    if (ForScripts(options) && !options.no_header) Print(Line(options, titles_));
  }
  void Add(std::vector<std::string> cells) {
    if (streams_) {
      Print(Line(options_, cells));
    } else {
      rows_.push_back(std::move(cells));
    }
  }
  absl::Status Finish() {
    RETURN_IF_ERROR(SortRows(options_.sort, titles_, rows_));
    Table table(columns_);
    for (std::vector<std::string>& row : rows_) {
      if (ForScripts(options_)) {
        Print(Line(options_, row));
      } else {
        table.Add(std::move(row));
      }
    }
    if (!ForScripts(options_)) Print(table.Render(!options_.no_header));
    return absl::OkStatus();
  }

 private:
  static void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

  const ListOptions& options_;
  const bool streams_;
  std::vector<std::string> titles_;
  std::vector<Table::Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

absl::Status CheckForm(const ListOptions& options) {
  if (options.csv && (options.parsable || options.parsable2))
    return absl::InvalidArgumentError("--csv cannot be used with -p or -P");
  if (options.sort.empty()) return absl::OkStatus();
  if (options.common.json) return absl::InvalidArgumentError("--sort cannot be used with --json");
  if (options.limit > 0 || !options.after.empty())
    return absl::InvalidArgumentError("--sort cannot be used with --limit or --after");
  return absl::OkStatus();
}

// Explains an empty table, which would look as if nothing was recorded.
std::string WhereNothingWas(const SelectionOptions& select) {
  const absl::StatusOr<SelectedTime> time = TimeOfSelection(select, absl::Now());
  std::string text = "no matching jobs";
  if (!time.ok() || (!time->start && !time->end)) return text;
  if (time->start) text += Cat(" since ", FormatTime(*time->start));
  if (time->end) text += Cat(" until ", FormatTime(*time->end));
  return select.start.empty() && time->start ? text + "; use -S now-7days for the last week" : text;
}

}  // namespace

int RunList(const ListOptions& options) {
  if (options.help_format) {
    PrintFields();
    return kAnswered;
  }
  if (absl::Status status = CheckForm(options); !status.ok()) return Fail(status);
  const absl::StatusOr<std::vector<std::pair<Field, int>>> fields = ChooseFields(FormatOf(options));
  if (!fields.ok()) return Fail(fields.status());
  std::vector<std::vector<std::string>> none;
  std::vector<std::string> titles;
  for (const auto& [field, width] : *fields) titles.emplace_back(field.name);
  if (absl::Status status = SortRows(options.sort, titles, none); !status.ok()) return Fail(status);
  std::int64_t count = 0;
  JsonReports json(stdout);
  std::optional<Rows> rows;
  if (!options.common.json) rows.emplace(options, *fields);
  Page page{options.limit, options.after, options.reverse, ""};
  const absl::Status status = ForEachSelected(
      options.common, options.select, {options.stall_factor},
      [&](Session& /*session*/, const Report& report) {
        ++count;
        if (!rows) {
          json.Add(report);
          return absl::OkStatus();
        }
        std::vector<std::string> cells;
        for (const auto& [field, width] : *fields) cells.push_back(Printable(field.value(report)));
        rows->Add(std::move(cells));
        return absl::OkStatus();
      },
      &page);
  if (!status.ok()) return Fail(status);
  if (!page.next.empty() && rows)
    std::fprintf(stderr, "sgoodput: more runs follow: continue with --after %s\n", page.next.c_str());
  if (!rows) {
    json.Finish(page.next);
  } else if (absl::Status finished = rows->Finish(); !finished.ok()) {
    return Fail(finished);
  }
  const bool for_people =
      rows && !options.parsable && !options.parsable2 && !options.csv && !options.no_header;
  if (count == 0 && for_people)
    std::fprintf(stderr, "sgoodput: %s\n", WhereNothingWas(options.select).c_str());
  return count == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
