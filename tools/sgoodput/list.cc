// `sgoodput` without a subcommand: one line a run, filtered and formatted as sacct does.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/evidence.h"
#include "sql/text.h"
#include "tools/sgoodput/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report.h"
#include "tools/sgoodput/session.h"
#include "tools/sgoodput/time_option.h"
#include "tools/slurm/hostlist.h"
#include "tools/timeline/clip.h"

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

std::vector<std::string> Words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) words.emplace_back(word);
  }
  return words;
}

bool Listed(const std::vector<std::string>& words, const std::string& value) {
  return words.empty() || std::find(words.begin(), words.end(), value) != words.end();
}

// Slurm's short and long names of states.
std::string LongState(std::string state) {
  static const std::map<std::string, std::string> kShort{
      {"PD", "PENDING"},   {"R", "RUNNING"},    {"S", "SUSPENDED"}, {"CD", "COMPLETED"},
      {"CA", "CANCELLED"}, {"F", "FAILED"},     {"TO", "TIMEOUT"},  {"NF", "NODE_FAIL"},
      {"PR", "PREEMPTED"}, {"BF", "BOOT_FAIL"}, {"DL", "DEADLINE"}, {"OOM", "OUT_OF_MEMORY"},
      {"RQ", "REQUEUED"}};
  absl::AsciiStrToUpper(&state);
  const auto found = kShort.find(state);
  return found == kShort.end() ? state : found->second;
}

struct Filter {
  std::vector<std::string> users, accounts, partitions, states, nodes, clusters;
  std::optional<Ns> start, end;

  bool Matches(const Report& report) const {
    const RunInfo& info = report.run.info;
    if (!Listed(users, info.user) || !Listed(accounts, info.account) || !Listed(partitions, info.partition) ||
        !Listed(clusters, info.cluster)) {
      return false;
    }
    if (start && report.timeline.end < *start) return false;
    if (end && report.timeline.begin > *end) return false;
    if (!states.empty()) {
      const bool any = Listed(states, info.state) ||
                       std::any_of(report.timeline.attempts.begin(), report.timeline.attempts.end(),
                                   [&](const AttemptSummary& a) { return Listed(states, a.facts->state); });
      if (!any) return false;
    }
    if (nodes.empty()) return true;
    for (const AttemptSummary& attempt : report.timeline.attempts) {
      for (const std::string& node : ExpandHostList(attempt.facts->node_list)) {
        if (Listed(nodes, node)) return true;
      }
    }
    return false;
  }
};

absl::StatusOr<Filter> MakeFilter(const ListOptions& options, absl::Time now) {
  Filter filter;
  filter.users = Words(options.users);
  filter.accounts = Words(options.accounts);
  filter.partitions = Words(options.partitions);
  for (const std::string& list : options.nodes) {
    for (std::string& node : ExpandHostList(list)) filter.nodes.push_back(std::move(node));
  }
  for (const std::string& state : Words(options.states)) filter.states.push_back(LongState(state));
  if (!options.all_clusters) filter.clusters = Words(options.clusters);
  // As sacct: without -u, -a or -j an ordinary user sees their own jobs, and everyone those since midnight.
  if (filter.users.empty() && !options.all_users && options.jobs.empty() && geteuid() != 0) {
    filter.users.push_back(UserName());
  }
  if (!options.start.empty()) {
    absl::StatusOr<Ns> start = ParseTimeOption(options.start, now);
    if (!start.ok()) return Annotate(start.status(), "-S");
    filter.start = *start;
  } else if (options.jobs.empty()) {
    filter.start = absl::ToUnixNanos(
        absl::FromCivil(absl::ToCivilDay(now, absl::LocalTimeZone()), absl::LocalTimeZone()));
  }
  if (!options.end.empty()) {
    absl::StatusOr<Ns> end = ParseTimeOption(options.end, now);
    if (!end.ok()) return Annotate(end.status(), "-E");
    filter.end = *end;
  }
  if (filter.start && filter.end && *filter.start > *filter.end) {
    return absl::InvalidArgumentError("-S is after -E");
  }
  return filter;
}

// Jobs of one run are one line; a job without a run name is a run of its own.
std::vector<std::vector<JobKey>> GroupByRun(const std::vector<JobKey>& jobs,
                                            const std::map<JobKey, std::string>& names) {
  std::vector<std::vector<JobKey>> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> group_of;
  for (const JobKey& job : jobs) {
    const auto name = names.find(job);
    if (name == names.end()) {
      groups.push_back({job});
      continue;
    }
    const auto [found, fresh] = group_of.try_emplace({job.cluster, name->second}, groups.size());
    if (fresh) {
      groups.push_back({job});
    } else {
      groups[found->second].push_back(job);
    }
  }
  return groups;
}

void PrintFields() {
  int column = 0;
  for (const Field& field : Fields()) std::printf("%-18s%s", field.name, ++column % 4 == 0 ? "\n" : "");
  if (column % 4 != 0) std::printf("\n");
}

void PrintParsable(const ListOptions& options, const std::vector<std::pair<Field, int>>& fields,
                   const std::vector<std::unique_ptr<Report>>& reports) {
  const char* last = options.parsable2 ? "\n" : "|\n";
  const auto line = [&](auto cell) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::string text = Printable(cell(fields[i].first));
      // A delimiter inside a value would shift every column behind it.
      std::replace(text.begin(), text.end(), '|', '?');
      std::printf("%s%s", text.c_str(), i + 1 < fields.size() ? "|" : last);
    }
  };
  if (!options.no_header) line([](const Field& field) { return std::string(field.name); });
  for (const auto& report : reports) line([&](const Field& field) { return field.value(*report); });
}

}  // namespace

int RunList(const ListOptions& options) {
  if (options.help_format) {
    PrintFields();
    return kAnswered;
  }
  const absl::StatusOr<std::vector<std::pair<Field, int>>> fields = ChooseFields(options.format);
  if (!fields.ok()) return Fail(fields.status());
  const absl::StatusOr<Filter> filter = MakeFilter(options, absl::Now());
  if (!filter.ok()) return Fail(filter.status());
  const absl::StatusOr<std::vector<std::int64_t>> asked = ParseJobIds(options.jobs);
  if (!asked.ok()) return Fail(asked.status());
  std::optional<std::int64_t> start_s;
  if (filter->start) start_s = *filter->start / kSecond;
  absl::StatusOr<Session> session = OpenSession(options.common, *asked, start_s);
  if (!session.ok()) return Fail(session.status());

  std::vector<JobKey> jobs;
  if (options.jobs.empty()) {
    absl::StatusOr<std::vector<JobKey>> known = KnownJobs(session->db);
    if (!known.ok()) return Fail(known.status());
    jobs = *std::move(known);
  } else {
    for (const std::string& text : Words(options.jobs)) {
      absl::StatusOr<std::vector<JobKey>> named = ResolveJob(session->db, text);
      if (!named.ok()) return Fail(named.status());
      jobs.insert(jobs.end(), named->begin(), named->end());
    }
  }
  const absl::StatusOr<std::map<JobKey, std::string>> names = RunNames(session->db, jobs);
  if (!names.ok()) return Fail(names.status());
  std::vector<std::unique_ptr<Report>> reports;
  std::set<std::tuple<std::string, std::int64_t, Ns>> listed;
  for (const std::vector<JobKey>& group : GroupByRun(jobs, *names)) {
    absl::StatusOr<std::vector<Report>> made = MakeReports(*session, group, {});
    if (absl::IsNotFound(made.status())) continue;
    if (!made.ok()) return Fail(made.status());
    for (Report& report : *made) {
      // Every component of a heterogeneous job leads to the whole of it.
      const RunInfo& info = report.run.info;
      if (!listed.emplace(info.cluster, info.job_id, report.timeline.begin).second ||
          !filter->Matches(report))
        continue;
      if (options.truncate) {
        ClipReport(report, filter->start.value_or(report.timeline.begin),
                   filter->end.value_or(session->now));
      }
      reports.push_back(std::make_unique<Report>(std::move(report)));
    }
  }

  if (options.common.json) {
    std::vector<const Report*> all;
    all.reserve(reports.size());
    for (const auto& report : reports) all.push_back(report.get());
    std::fputs(ReportsAsJson(all).c_str(), stdout);
  } else if (options.parsable || options.parsable2) {
    PrintParsable(options, *fields, reports);
  } else {
    std::vector<Table::Column> columns;
    for (const auto& [field, width] : *fields) {
      columns.push_back({field.name, width < 0 ? Table::Align::kLeft : field.align,
                         width != 0 ? static_cast<std::size_t>(std::abs(width)) : field.width});
    }
    Table table(std::move(columns));
    for (const auto& report : reports) {
      std::vector<std::string> cells;
      for (const auto& [field, width] : *fields) cells.push_back(Printable(field.value(*report)));
      table.Add(std::move(cells));
    }
    std::fputs(table.Render(!options.no_header).c_str(), stdout);
  }
  return reports.empty() ? kNothingMatched : kAnswered;
}

}  // namespace goodput
