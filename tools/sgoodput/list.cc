// `sgoodput` without a subcommand: one line a run, filtered and formatted as sacct does.
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
#include "sql/text.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"
#include "tools/timeline/hang.h"

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
        {"End", Align::kLeft, 0,
         [](const Report& r) {
           return r.timeline.running ? std::string("Unknown") : FormatTime(r.timeline.end);
         }},
        {"Wall", Align::kRight, 0,
         [](const Report& r) { return FormatDuration(r.timeline.end - r.timeline.begin); }},
        {"WallRaw", Align::kRight, 0,
         [](const Report& r) { return Cat((r.timeline.end - r.timeline.begin) / kSecond); }},
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

constexpr const char* kDefaultFormat =
    "JobID,JobName,User,Partition,State,Wall,Attempts,Scheduling,Runtime,Goodput";

// sacct's `-o name%20`: a width; negative is left-aligned.
absl::StatusOr<std::vector<std::pair<Field, int>>> ChooseFields(const std::vector<std::string>& format) {
  std::vector<std::pair<Field, int>> chosen;
  std::vector<std::string> words = format;
  if (words.empty()) words = {kDefaultFormat};
  for (const std::string& list : words) {
    for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      const std::size_t percent = word.find('%');
      const absl::string_view name = word.substr(0, percent);
      int width = 0;
      if (percent != absl::string_view::npos && !absl::SimpleAtoi(word.substr(percent + 1), &width)) {
        return absl::InvalidArgumentError(
            Cat("-o: '", std::string(word), "' has no width after %; write JobName%30"));
      }
      const auto found = std::find_if(Fields().begin(), Fields().end(), [&](const Field& field) {
        return absl::EqualsIgnoreCase(field.name, name);
      });
      if (found == Fields().end()) {
        return absl::InvalidArgumentError(
            Cat("-o: there is no field '", std::string(name), "'; sgoodput --helpformat lists them"));
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

template <typename Cell>
void PrintLine(const ListOptions& options, const std::vector<std::pair<Field, int>>& fields,
               const Cell& cell) {
  std::string line;
  for (const auto& [field, width] : fields) {
    std::string text = Printable(cell(field));
    // A delimiter inside a value would shift every column behind it.
    std::replace(text.begin(), text.end(), '|', '?');
    line += text;
    line.push_back('|');
  }
  if (options.parsable2) line.pop_back();
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stdout);
}

}  // namespace

int RunList(const ListOptions& options) {
  if (options.help_format) {
    PrintFields();
    return kAnswered;
  }
  const absl::StatusOr<std::vector<std::pair<Field, int>>> fields = ChooseFields(options.format);
  if (!fields.ok()) return Fail(fields.status());
  std::int64_t count = 0;
  std::vector<Table::Column> columns;
  for (const auto& [field, width] : *fields) {
    columns.push_back({field.name, width < 0 ? Table::Align::kLeft : field.align,
                       width != 0 ? static_cast<std::size_t>(std::abs(width)) : field.width});
  }
  Table table(std::move(columns));
  JsonReports json(stdout);
  const bool parsable = options.parsable || options.parsable2;
  if (parsable && !options.common.json && !options.no_header)
    PrintLine(options, *fields, [](const Field& field) { return std::string(field.name); });
  Page page{options.limit, options.after, options.reverse, ""};
  const absl::Status status = ForEachSelected(
      options.common, options.select, {options.stall_factor},
      [&](Session& /*session*/, const Report& report) {
        ++count;
        if (options.common.json) {
          json.Add(report);
        } else if (parsable) {
          PrintLine(options, *fields, [&](const Field& field) { return field.value(report); });
        } else {
          std::vector<std::string> cells;
          for (const auto& [field, width] : *fields) cells.push_back(Printable(field.value(report)));
          table.Add(std::move(cells));
        }
        return absl::OkStatus();
      },
      &page);
  if (!status.ok()) return Fail(status);
  if (!page.next.empty() && !options.common.json)
    std::fprintf(stderr, "sgoodput: there are more: --after %s\n", page.next.c_str());
  if (options.common.json) {
    json.Finish(page.next);
  } else if (!parsable) {
    std::fputs(table.Render(!options.no_header).c_str(), stdout);
  }
  return count == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
