#include "tools/sources/fleet_database/questions.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/attempt_days.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr Ns kUtcDay = 86'400 * kSecond;
constexpr std::int64_t kMostWindows = 100'000;
constexpr char kBetweenGroups = '\x1f';
constexpr const char* kNone = "-";

// A key of --by: its value in rows of attempt_day (d), and in rows of interruption (i) with their unit (u).
struct Key {
  std::string_view name;
  const char* of_day;
  const char* of_interruption;
};
constexpr std::array<Key, 11> kKeys{{
    {"all", "'all'", "'all'"},
    {"cluster", "d.cluster", "i.cluster"},
    {"user", "d.user_name", "u.user_name"},
    {"account", "d.account", "u.account"},
    {"partition", "d.partition", "u.partition"},
    {"reservation", "d.provision", "i.provision"},
    {"run", "d.run", "CASE WHEN u.run = '' THEN u.job_id_text ELSE u.run END"},
    {"gpu_type", "d.gpu_type", "u.gpu_type"},
    {"month", "to_char(d.month, 'YYYY-MM')", "to_char(i.day, 'YYYY-MM')"},
    {"day", "to_char(d.day, 'YYYY-MM-DD')", "to_char(i.day, 'YYYY-MM-DD')"},
    {"cause", "d.cause", "i.cause"},
}};

// SQL with its values, which are never part of the text.
class Sql {
 public:
  std::string Value(const std::string& value) {
    values_.emplace_back(value);
    return Cat("$", values_.size());
  }
  std::string Values(const std::vector<std::string>& values) {
    return Cat("ANY(", Value(FleetArray(values)), "::text[])");
  }
  void Where(std::string condition) { conditions_.push_back(std::move(condition)); }
  std::string conditions() const {
    return conditions_.empty() ? "" : Cat(" WHERE ", absl::StrJoin(conditions_, " AND "));
  }
  const std::vector<FleetValue>& values() const { return values_; }

 private:
  std::vector<FleetValue> values_;
  std::vector<std::string> conditions_;
};

struct Expressions {
  std::vector<std::string> of_day;
  std::vector<std::string> of_interruption;
};

absl::StatusOr<Expressions> ExpressionsOf(const std::vector<std::string>& by, Sql& days, Sql& interruptions) {
  constexpr std::string_view kTag = "tag:";
  Expressions expressions;
  for (const std::string& name : by) {
    if (name.rfind(kTag, 0) == 0 && name.size() > kTag.size()) {
      const std::string prefix = Cat(name.substr(kTag.size()), "=");
      const auto tag = [&](Sql& sql) {
        const std::string value = sql.Value(prefix);
        return Cat("(SELECT substr(t, length(", value,
                   "::text) + 1) FROM unnest(u.tags) t WHERE starts_with(t, ", value,
                   "::text) ORDER BY t LIMIT 1)");
      };
      expressions.of_day.push_back(tag(days));
      expressions.of_interruption.push_back(tag(interruptions));
      continue;
    }
    const auto* const key =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& known) { return known.name == name; });
    if (key == kKeys.end()) {
      return absl::InvalidArgumentError(
          Cat("--by: the fleet database has no group '", Printable(name),
              "'; use cluster, user, account, partition, reservation, run, gpu_type, month, day, cause, all, "
              "tag:KEY, or two of them: cluster,month",
              name == "node" ? " (for nodes ask the cluster, with --url)" : ""));
    }
    expressions.of_day.emplace_back(key->of_day);
    expressions.of_interruption.emplace_back(key->of_interruption);
  }
  return expressions;
}

absl::Status CheckMidnight(const std::optional<Ns>& t, const char* option) {
  if (!t || *t % kUtcDay == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat(option, ": the fleet database counts whole days in UTC, so with -T or --window the ",
          "time must be midnight UTC (set TZ=UTC to write dates in UTC)"));
}

std::string DateOf(Ns t) {
  return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + UtcDay(t));
}

// Conditions on `unit` u.
void SelectUnits(const FleetSelection& select, Sql& sql) {
  const auto list = [&](const char* column, const std::vector<std::string>& values) {
    if (!values.empty()) sql.Where(Cat("u.", column, " = ", sql.Values(values)));
  };
  list("cluster", select.clusters);
  list("user_name", select.users);
  list("account", select.accounts);
  list("partition", select.partitions);
  list("job_name", select.names);
  list("run", select.runs);
  if (!select.states.empty())
    sql.Where(Cat("u.states && ", sql.Value(FleetArray(select.states)), "::text[]"));
  if (!select.jobs.empty()) {
    std::vector<std::string> ids;
    for (const std::string& job : select.jobs) {
      std::int64_t id = 0;
      if (absl::SimpleAtoi(job, &id)) ids.push_back(std::to_string(id));
    }
    sql.Where(Cat("(u.job_id_text = ", sql.Values(select.jobs), " OR u.job_ids && ",
                  sql.Value(Cat("{", absl::StrJoin(ids, ","), "}")), "::bigint[])"));
  }
  if (select.start) sql.Where(Cat("u.end_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
  if (select.end) sql.Where(Cat("u.begin_ns <= ", sql.Value(std::to_string(*select.end)), "::bigint"));
}

// Whether rows of attempt_day alone do not tell which of them are selected.
bool NeedsUnit(const FleetQuestion& question) {
  const FleetSelection& select = question.select;
  const bool by_tag = std::any_of(question.by.begin(), question.by.end(),
                                  [](const std::string& name) { return name.rfind("tag:", 0) == 0; });
  return by_tag || !select.states.empty() || !select.names.empty() || !select.jobs.empty() ||
         !select.runs.empty();
}

void SelectDays(const FleetQuestion& question, Sql& sql) {
  const FleetSelection& select = question.select;
  if (NeedsUnit(question)) {
    SelectUnits(select, sql);
  } else {
    const auto list = [&](const char* column, const std::vector<std::string>& values) {
      if (!values.empty()) sql.Where(Cat("d.", column, " = ", sql.Values(values)));
    };
    list("cluster", select.clusters);
    list("user_name", select.users);
    list("account", select.accounts);
    list("partition", select.partitions);
    if (select.start) sql.Where(Cat("d.end_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
    if (select.end) sql.Where(Cat("d.begin_ns <= ", sql.Value(std::to_string(*select.end)), "::bigint"));
  }
  if (!select.truncate && question.window_days == 0) return;
  // The month selects partitions.
  if (select.start) {
    const std::string day = Cat(sql.Value(DateOf(*select.start)), "::date");
    sql.Where(Cat("d.day >= ", day, " AND d.month >= date_trunc('month', ", day, "::timestamp)::date"));
  }
  if (select.end) {
    const std::string day = Cat(sql.Value(DateOf(*select.end)), "::date");
    sql.Where(Cat("d.day < ", day, " AND d.month <= ", day));
  }
}

// As ClipTimeline and Rollup do.
void SelectInterruptions(const FleetQuestion& question, Sql& sql) {
  const FleetSelection& select = question.select;
  SelectUnits(select, sql);
  if (!select.truncate && question.window_days == 0) return;
  if (select.start) sql.Where(Cat("i.time_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
  if (select.end) sql.Where(Cat("i.time_ns < ", sql.Value(std::to_string(*select.end)), "::bigint"));
  if (select.truncate) sql.Where("i.time_ns >= u.begin_ns AND i.time_ns < u.end_ns");
}

// A sum of bigints: PostgreSQL returns it as numeric.
GpuNs Whole(std::string_view digits) {
  GpuNs value = 0;
  const bool negative = !digits.empty() && digits.front() == '-';
  for (const char c : digits.substr(negative ? 1 : 0)) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

double Real(std::string_view digits) {
  double value = 0;
  return absl::SimpleAtod(ToAbsl(digits), &value) ? value : 0;
}

// The sums of rows of attempt_day (d), in the order in which ReadSums expects them.
std::string SumColumns() {
  std::string columns = "bool_or(d.has_gpus), sum(d.gap_ns), sum(d.gap_gpu_ns)";
  for (const char* kind : {"w_", "b_"}) {
    for (const Bucket bucket : AllBuckets()) columns += Cat(", sum(d.", kind, BucketName(bucket), ")");
  }
  columns +=
      ", sum(d.b_productive) FILTER (WHERE d.program_e9 IS NOT NULL AND d.peak_flops IS NOT NULL)"
      ", sum(d.b_productive * d.peak_flops * d.program_e9)"
      ", sum(d.b_productive * d.peak_flops) FILTER (WHERE d.program_e9 IS NOT NULL)";
  return columns;
}

// Program goodput of rows that are added up.
struct Program {
  GpuNs known_gpu_ns = 0;
  double kept = 0;  // FLOPs x 10^18, as the sums of attempt_day have them
  double peak = 0;

  void SetIn(RollupRow& row) const {
    const GpuNs productive = row.gpu_ns[static_cast<std::size_t>(Bucket::kProductive)];
    if (productive <= 0) return;
    row.program_share = static_cast<double>(known_gpu_ns) / static_cast<double>(productive);
    if (peak <= 0) return;
    row.program = kept / peak / 1e9;
    if (known_gpu_ns == productive && row.sg_rg()) row.mpg = *row.sg_rg() * *row.program;
  }
};

struct Sums {
  RollupRow row;
  Program program;
};

void ReadSums(const FleetResult& result, int row, int column, Sums& sums) {
  RollupRow& into = sums.row;
  const bool has_gpus = result.Text(row, column) == "t";
  if (has_gpus) {
    into.gap_gpu_ns += Whole(result.Text(row, column + 2));
  } else {
    into.gap_cpu_ns += static_cast<Ns>(Whole(result.Text(row, column + 1)));
  }
  for (int i = 0; i < kBucketCount; ++i) {
    const auto bucket = static_cast<std::size_t>(i);
    const auto ns = static_cast<Ns>(Whole(result.Text(row, column + 3 + i)));
    into.ns[bucket] += ns;
    if (has_gpus) {
      into.gpu_ns[bucket] += Whole(result.Text(row, column + 3 + kBucketCount + i));
    } else {
      into.cpu_ns[bucket] += ns;
    }
  }
  const int program = column + 3 + 2 * kBucketCount;
  sums.program.known_gpu_ns += Whole(result.Text(row, program));
  sums.program.kept += Real(result.Text(row, program + 1));
  sums.program.peak += Real(result.Text(row, program + 2));
}

using Group = std::pair<std::int64_t, std::string>;  // window, group

std::string WindowOf(const FleetQuestion& question, const char* day, Sql& sql) {
  if (question.window_days == 0) return "0";
  return Cat("(", day, " - ", sql.Value(DateOf(*question.select.start)), "::date) / ", question.window_days);
}

Group GroupOf(const FleetResult& result, int row, std::size_t keys) {
  std::string group;
  for (std::size_t i = 0; i < keys; ++i) {
    if (i > 0) group.push_back(kBetweenGroups);
    const std::string_view part = result.Text(row, static_cast<int>(i) + 1);
    group += part.empty() ? kNone : part;
  }
  return {result.Int(row, 0), group};
}

absl::StatusOr<std::vector<FleetClusterTime>> TimesOf(FleetConnection& connection) {
  ASSIGN_OR_RETURN(const FleetResult rows,
                   connection.Query("SELECT cluster, as_of_ns FROM cluster ORDER BY cluster"));
  std::vector<FleetClusterTime> times;
  for (int i = 0; i < rows.rows(); ++i) {
    times.push_back({std::string(rows.Text(i, 0)), std::nullopt});
    if (!rows.IsNull(i, 1)) times.back().as_of = rows.Int(i, 1);
  }
  return times;
}

absl::Status CheckTimes(const FleetQuestion& question) {
  const FleetSelection& select = question.select;
  if (!select.truncate && question.window_days == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckMidnight(select.start, "-S"));
  RETURN_IF_ERROR(CheckMidnight(select.end, "-E"));
  if (question.window_days == 0) return absl::OkStatus();
  if (!select.start || !select.end) return absl::InvalidArgumentError("--window requires -S and -E");
  if ((*select.end - *select.start) / kUtcDay / question.window_days >= kMostWindows)
    return absl::InvalidArgumentError("--window: too many windows between -S and -E; use a longer one");
  if (*select.end <= *select.start) return absl::InvalidArgumentError("--window: -S must be before -E");
  return absl::OkStatus();
}

// Windows without rows are rows too.
void AddEmptyWindows(const FleetQuestion& question, std::map<Group, Sums>& groups) {
  if (question.window_days == 0) return;
  const std::int64_t days = (*question.select.end - *question.select.start) / kUtcDay;
  for (std::int64_t window = 0; window * question.window_days < days; ++window) {
    const auto next = groups.lower_bound({window, ""});
    if (next == groups.end() || next->first.first != window)
      groups[{window, question.by.front() == "all" ? "all" : kNone}];
  }
}

void SetWindow(const FleetQuestion& question, std::int64_t window, RollupRow& row) {
  if (question.window_days == 0) return;
  row.begin = *question.select.start + window * question.window_days * kUtcDay;
  row.end = std::min(*question.select.end, row.begin + question.window_days * kUtcDay);
}

// A run whose rows differ in this is in several rows of the answer.
bool DividesRuns(const std::string& key) {
  return key == "month" || key == "day" || key == "cause" || key == "reservation";
}

// One question in SQL: the same rows of attempt_day for its sums and for its numbers of runs.
class Answering {
 public:
  Answering(FleetConnection& connection, const FleetQuestion& question)
      : connection_(connection), question_(question) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(expressions_, ExpressionsOf(question_.by, days_, interruptions_));
    expressions_.of_day.insert(expressions_.of_day.begin(), WindowOf(question_, "d.day", days_));
    expressions_.of_interruption.insert(expressions_.of_interruption.begin(),
                                        WindowOf(question_, "i.day", interruptions_));
    SelectDays(question_, days_);
    SelectInterruptions(question_, interruptions_);
    // From one snapshot, so that rows add up to the total.
    RETURN_IF_ERROR(connection_.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    RETURN_IF_ERROR(AddSums());
    RETURN_IF_ERROR(CountRuns());
    RETURN_IF_ERROR(CountInterruptions());
    ASSIGN_OR_RETURN(clusters, TimesOf(connection_));
    return connection_.Execute("COMMIT");
  }

  std::map<Group, Sums> groups;
  Sums total;
  std::vector<FleetClusterTime> clusters;

 private:
  std::size_t keys() const { return question_.by.size(); }
  // The first columns: 1, 2 ...
  std::string Positions() const {
    std::string positions = "1";
    for (std::size_t i = 2; i <= keys() + 1; ++i) positions += Cat(", ", i);
    return positions;
  }
  std::string Days() const {
    return Cat(" FROM attempt_day d", NeedsUnit(question_) ? " JOIN unit u USING (cluster, unit, shard)" : "",
               days_.conditions());
  }

  // By has_gpus too: a run without GPUs counts with its time.
  absl::Status AddSums() {
    ASSIGN_OR_RETURN(const FleetResult rows,
                     connection_.Query(Cat("SELECT ", absl::StrJoin(expressions_.of_day, ", "), ", ",
                                           SumColumns(), Days(), " GROUP BY ", Positions(), ", d.has_gpus"),
                                       days_.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const auto column = static_cast<int>(keys()) + 1;
      ReadSums(rows, i, column, groups[GroupOf(rows, i, keys())]);
      ReadSums(rows, i, column, total);
    }
    return absl::OkStatus();
  }

  // count(DISTINCT) would sort all rows, and keep the server from sharing the sums among its processes.
  absl::Status CountRuns() {
    std::vector<std::string> columns;
    for (std::size_t i = 0; i < expressions_.of_day.size(); ++i)
      columns.push_back(Cat(expressions_.of_day[i], " AS key", i));
    const auto distinct = [&](const std::string& of) {
      return Cat("(SELECT DISTINCT ", of, "d.shard, d.cluster, d.unit", Days(), ") runs");
    };
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(Cat("SELECT ", KeyNames(), ", count(*) FROM ",
                              distinct(absl::StrJoin(columns, ", ") + ", "), " GROUP BY ", Positions()),
                          days_.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const std::int64_t runs = rows.Int(i, static_cast<int>(keys()) + 1);
      groups[GroupOf(rows, i, keys())].row.runs += runs;
      total.row.runs += runs;
    }
    const bool once =
        question_.window_days == 0 && std::none_of(question_.by.begin(), question_.by.end(), DividesRuns);
    if (once) return absl::OkStatus();
    // Values that only its columns name would be left over.
    Sql all;
    SelectDays(question_, all);
    const std::string unit = NeedsUnit(question_) ? " JOIN unit u USING (cluster, unit, shard)" : "";
    ASSIGN_OR_RETURN(
        const FleetResult whole,
        connection_.Query(Cat("SELECT count(*) FROM (SELECT DISTINCT d.shard, d.cluster, d.unit FROM "
                              "attempt_day d",
                              unit, all.conditions(), ") runs"),
                          all.values()));
    total.row.runs = whole.Int(0, 0);
    return absl::OkStatus();
  }

  std::string KeyNames() const {
    std::string names = "key0";
    for (std::size_t i = 1; i <= keys(); ++i) names += Cat(", key", i);
    return names;
  }

  absl::Status CountInterruptions() {
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(Cat("SELECT ", absl::StrJoin(expressions_.of_interruption, ", "),
                              ", count(*) FROM interruption i JOIN unit u USING (cluster, unit, shard)",
                              interruptions_.conditions(), " GROUP BY ", Positions()),
                          interruptions_.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const std::int64_t count = rows.Int(i, static_cast<int>(keys()) + 1);
      groups[GroupOf(rows, i, keys())].row.interruptions += count;
      total.row.interruptions += count;
    }
    return absl::OkStatus();
  }

  FleetConnection& connection_;
  const FleetQuestion& question_;
  Sql days_;
  Sql interruptions_;
  Expressions expressions_;
};

absl::Status CheckKeys(const std::vector<std::string>& by) {
  if (by.empty() || by.size() > 2)
    return absl::InvalidArgumentError("--by: use one group, or two: cluster,month");
  if (by.size() == 2 && (by[0] == "all" || by[1] == "all"))
    return absl::InvalidArgumentError("--by: all cannot be combined with another group");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RollupReport> AskFleet(FleetConnection& connection, const FleetQuestion& question) {
  RETURN_IF_ERROR(CheckTimes(question));
  RETURN_IF_ERROR(CheckKeys(question.by));
  Answering answer(connection, question);
  RETURN_IF_ERROR(answer.Run());
  AddEmptyWindows(question, answer.groups);
  RollupReport report;
  report.clusters = std::move(answer.clusters);
  report.keys = question.by;
  report.by = absl::StrJoin(question.by, ",");
  report.windows = question.window_days > 0;
  for (auto& [key, sum] : answer.groups) {
    sum.row.group = key.second;
    SetWindow(question, key.first, sum.row);
    sum.program.SetIn(sum.row);
    report.rows.push_back(sum.row);
  }
  answer.total.program.SetIn(answer.total.row);
  report.total = answer.total.row;
  report.total.group = "total";
  if (report.windows) {
    report.total.begin = *question.select.start;
    report.total.end = *question.select.end;
  }
  return report;
}

absl::StatusOr<FleetRuns> RunsOfFleet(FleetConnection& connection, const FleetSelection& select,
                                      std::int64_t limit) {
  Sql sql;
  SelectUnits(select, sql);
  const std::string page =
      Cat("SELECT u.cluster, u.unit, u.shard, c.url, u.job_id_text, u.run, u.user_name, u.account,"
          " u.state, u.final, u.begin_ns, u.end_ns, u.gpus, u.attempts, u.interruptions"
          " FROM unit u JOIN cluster c USING (cluster)",
          sql.conditions(), " ORDER BY u.begin_ns DESC, u.cluster, u.unit LIMIT ", limit + 1);
  constexpr int kColumns = 15;
  ASSIGN_OR_RETURN(
      const FleetResult rows,
      connection.Query(
          Cat("WITH page AS (", page, ") SELECT p.*, s.* FROM page p LEFT JOIN LATERAL (SELECT ",
              SumColumns(), " FROM attempt_day d WHERE d.cluster = p.cluster AND d.unit = p.unit",
              " AND d.shard = p.shard) s ON true ORDER BY p.begin_ns DESC, p.cluster, p.unit"),
          sql.values()));
  FleetRuns found;
  found.more = rows.rows() > limit;
  for (int i = 0; i < rows.rows() && i < limit; ++i) {
    FleetRun run;
    const auto text = [&](int column) { return std::string(rows.Text(i, column)); };
    run.cluster = text(0);
    run.unit = text(1);
    run.cluster_url = text(3);
    run.job_id_text = text(4);
    run.run = text(5);
    run.user = text(6);
    run.account = text(7);
    run.state = text(8);
    run.final = text(9) == "t";
    run.begin = rows.Int(i, 10);
    run.end = rows.Int(i, 11);
    run.gpus = rows.Int(i, 12);
    run.attempts = rows.Int(i, 13);
    Sums sums;
    ReadSums(rows, i, kColumns, sums);
    sums.row.interruptions = rows.Int(i, 14);
    sums.program.SetIn(sums.row);
    run.sums = sums.row;
    found.runs.push_back(std::move(run));
  }
  return found;
}

absl::StatusOr<std::vector<FleetClusterStatus>> ClustersOfFleet(FleetConnection& connection) {
  ASSIGN_OR_RETURN(
      const FleetResult rows,
      connection.Query("SELECT c.cluster, c.url, c.release, c.as_of_ns, c.heard_ns, c.refused, c.problem,"
                       " count(u.unit), count(u.unit) FILTER (WHERE NOT u.final) FROM cluster c"
                       " LEFT JOIN unit u USING (cluster) GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1"));
  std::vector<FleetClusterStatus> clusters;
  for (int i = 0; i < rows.rows(); ++i) {
    FleetClusterStatus cluster;
    cluster.cluster = rows.Text(i, 0);
    cluster.url = rows.Text(i, 1);
    cluster.release = rows.Text(i, 2);
    if (!rows.IsNull(i, 3)) cluster.as_of = rows.Int(i, 3);
    if (!rows.IsNull(i, 4)) cluster.heard = rows.Int(i, 4);
    cluster.refused = rows.Int(i, 5);
    cluster.problem = rows.Text(i, 6);
    cluster.runs = rows.Int(i, 7);
    cluster.running = rows.Int(i, 8);
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

}  // namespace goodput
