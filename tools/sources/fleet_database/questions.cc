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

// `usage`: in usage_day, which has all runs.
void SelectDays(const FleetQuestion& question, bool usage, Sql& sql) {
  const FleetSelection& select = question.select;
  if (usage) sql.Where("d.n > 0");
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
    if (select.start && !usage)
      sql.Where(Cat("d.end_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
    if (select.end && !usage)
      sql.Where(Cat("d.begin_ns <= ", sql.Value(std::to_string(*select.end)), "::bigint"));
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

// As ClipTimeline and Rollup do. `with_unit`: the rows of unit (u) are joined; otherwise all runs are
// selected.
void SelectInterruptions(const FleetQuestion& question, bool with_unit, Sql& sql) {
  const FleetSelection& select = question.select;
  if (with_unit) {
    SelectUnits(select, sql);
  } else if (!select.clusters.empty()) {
    sql.Where(Cat("i.cluster = ", sql.Values(select.clusters)));
  }
  if (!select.truncate && question.window_days == 0) return;
  if (select.start) sql.Where(Cat("i.time_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
  if (select.end) sql.Where(Cat("i.time_ns < ", sql.Value(std::to_string(*select.end)), "::bigint"));
  if (select.truncate) sql.Where("i.inside");
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

// The sums of rows of attempt_day or usage_day (d), in the order in which ReadSums expects them.
std::string SumColumns(bool of_usage) {
  std::string columns = "bool_or(d.has_gpus), sum(d.gap_ns), sum(d.gap_gpu_ns)";
  for (const char* kind : {"w_", "b_"}) {
    for (const Bucket bucket : AllBuckets()) columns += Cat(", sum(d.", kind, BucketName(bucket), ")");
  }
  if (of_usage) return columns + ", sum(d.known_gpu_ns), sum(d.kept_flops_e9), sum(d.known_peak_flops)";
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

bool HasKey(const FleetQuestion& question, std::string_view key) {
  return std::find(question.by.begin(), question.by.end(), key) != question.by.end();
}

// The parts of the time to which the rows of the answer belong.
enum class Part : std::uint8_t { kWhole, kMonth, kDay, kOther };

// `by`: the parts are those of its rows; otherwise those of its total.
Part PartOf(const FleetQuestion& question, bool by) {
  if (by && (HasKey(question, "day") || question.window_days == 1)) return Part::kDay;
  if (question.window_days > 0) return Part::kOther;
  const FleetSelection& select = question.select;
  const bool cut = select.truncate && (select.start || select.end);
  if (!cut) return by && HasKey(question, "month") ? Part::kMonth : Part::kWhole;
  if (!select.start || !select.end) return Part::kOther;
  const absl::CivilDay begin = absl::CivilDay(1970, 1, 1) + UtcDay(*select.start);
  const absl::CivilDay end = absl::CivilDay(1970, 1, 1) + UtcDay(*select.end);
  if (end - begin == 1) return Part::kDay;
  const bool months = begin.day() == 1 && end.day() == 1;
  const bool one = absl::CivilMonth(end) - absl::CivilMonth(begin) == 1;
  return months && (one || (by && HasKey(question, "month"))) ? Part::kMonth : Part::kOther;
}

// The column of usage_day whose sum counts each run of a row (`by`) or of the total once; null if there is
// none.
const char* RunsColumn(const FleetQuestion& question, bool by) {
  const bool provision = by && HasKey(question, "reservation");
  const bool cause = by && HasKey(question, "cause");
  const Part part = PartOf(question, by);
  if ((provision && cause) || part == Part::kOther) return nullptr;
  if (part == Part::kDay) return provision || cause ? nullptr : "runs_day";
  if (part == Part::kMonth)
    return provision ? "runs_month_provision" : cause ? "runs_month_cause" : "runs_month";
  return provision ? "runs_provision" : cause ? "runs_cause" : "runs";
}

// One question in SQL: the same rows for its sums and for its numbers of runs.
class Answering {
 public:
  Answering(FleetConnection& connection, const FleetQuestion& question)
      : connection_(connection), question_(question) {}

  absl::Status Run() {
    // From one snapshot, so that rows add up to the total.
    RETURN_IF_ERROR(connection_.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    ASSIGN_OR_RETURN(usage_, UsageAnswers());
    RETURN_IF_ERROR(AddSums());
    RETURN_IF_ERROR(CountRunsOfTotal());
    RETURN_IF_ERROR(CountInterruptions());
    ASSIGN_OR_RETURN(clusters, TimesOf(connection_));
    return connection_.Execute("COMMIT");
  }

  std::map<Group, Sums> groups;
  Sums total;
  std::vector<FleetClusterTime> clusters;

 private:
  // The rows that are selected, and their keys; the first key is the window.
  struct Rows {
    Sql sql;
    std::vector<std::string> keys;
    std::string from;

    std::string Named() const {
      std::vector<std::string> named;
      for (std::size_t i = 0; i < keys.size(); ++i) named.push_back(Cat(keys[i], " AS key", i));
      return absl::StrJoin(named, ", ");
    }
  };

  std::size_t keys() const { return question_.by.size(); }
  // The first columns: 1, 2 ...
  std::string Positions() const {
    std::string positions = "1";
    for (std::size_t i = 2; i <= keys() + 1; ++i) positions += Cat(", ", i);
    return positions;
  }
  std::string KeyNames() const {
    std::string names = "key0";
    for (std::size_t i = 1; i <= keys(); ++i) names += Cat(", key", i);
    return names;
  }

  // `with_keys`: without them, values that only keys name would be left over.
  absl::StatusOr<Rows> RowsOf(bool usage, bool with_keys) const {
    Rows rows;
    Sql interruptions;
    if (with_keys) {
      ASSIGN_OR_RETURN(Expressions expressions, ExpressionsOf(question_.by, rows.sql, interruptions));
      rows.keys = std::move(expressions.of_day);
      rows.keys.insert(rows.keys.begin(), WindowOf(question_, "d.day", rows.sql));
    }
    SelectDays(question_, usage, rows.sql);
    rows.from =
        Cat(" FROM ", usage ? "usage_day" : "attempt_day", " d",
            NeedsUnit(question_) ? " JOIN unit u USING (cluster, unit, shard)" : "", rows.sql.conditions());
    return rows;
  }

  // Whether usage_day has all that is asked for: whole days, or whole runs of which none is left out.
  absl::StatusOr<bool> UsageAnswers() {
    const FleetSelection& select = question_.select;
    if (NeedsUnit(question_) || HasKey(question_, "run")) return false;
    if (select.truncate || question_.window_days > 0 || (!select.start && !select.end)) return true;
    const auto bound = [](const std::optional<Ns>& t, Ns none) { return std::to_string(t.value_or(none)); };
    ASSIGN_OR_RETURN(
        const FleetResult left_out,
        connection_.Query("SELECT EXISTS (SELECT FROM unit WHERE end_ns < $1::bigint) OR"
                          " EXISTS (SELECT FROM unit WHERE begin_ns > $2::bigint AND end_ns > $2::bigint)",
                          {bound(select.start, INT64_MIN), bound(select.end, INT64_MAX)}));
    return left_out.Text(0, 0) == "f";
  }

  // By has_gpus too: a run without GPUs counts with its time.
  absl::Status AddSums() {
    const char* const runs = usage_ ? RunsColumn(question_, true) : nullptr;
    ASSIGN_OR_RETURN(const Rows of, RowsOf(usage_, true));
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(
            Cat("SELECT ", absl::StrJoin(of.keys, ", "), runs != nullptr ? Cat(", sum(d.", runs, ")") : ", 0",
                ", ", SumColumns(usage_), of.from, " GROUP BY ", Positions(), ", d.has_gpus"),
            of.sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const auto column = static_cast<int>(keys()) + 2;
      AddRuns(rows, i);
      ReadSums(rows, i, column, groups[GroupOf(rows, i, keys())]);
      ReadSums(rows, i, column, total);
    }
    return runs != nullptr ? absl::OkStatus() : CountRuns();
  }

  // Their number is the column after the keys.
  void AddRuns(const FleetResult& rows, int row) {
    const std::int64_t runs = rows.Int(row, static_cast<int>(keys()) + 1);
    groups[GroupOf(rows, row, keys())].row.runs += runs;
    total.row.runs += runs;
  }

  // count(DISTINCT) would sort all rows, and keep the server from sharing the work among its processes.
  absl::Status CountRuns() {
    ASSIGN_OR_RETURN(const Rows of, RowsOf(false, true));
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(Cat("SELECT ", KeyNames(), ", count(*) FROM (SELECT DISTINCT ", of.Named(),
                              ", d.shard, d.cluster, d.unit", of.from, ") runs GROUP BY ", Positions()),
                          of.sql.values()));
    for (int i = 0; i < rows.rows(); ++i) AddRuns(rows, i);
    return absl::OkStatus();
  }

  // Each run once, unless it already is.
  absl::Status CountRunsOfTotal() {
    const bool once =
        question_.window_days == 0 && std::none_of(question_.by.begin(), question_.by.end(), DividesRuns);
    if (once) return absl::OkStatus();
    const char* const column = usage_ ? RunsColumn(question_, false) : nullptr;
    ASSIGN_OR_RETURN(const Rows rows, RowsOf(column != nullptr, false));
    const std::string sql =
        column != nullptr
            ? Cat("SELECT coalesce(sum(d.", column, "), 0)", rows.from)
            : Cat("SELECT count(*) FROM (SELECT DISTINCT d.shard, d.cluster, d.unit", rows.from, ") runs");
    ASSIGN_OR_RETURN(const FleetResult whole, connection_.Query(sql, rows.sql.values()));
    total.row.runs = whole.Int(0, 0);
    return absl::OkStatus();
  }

  absl::Status CountInterruptions() {
    Sql days;
    Sql sql;
    ASSIGN_OR_RETURN(Expressions expressions, ExpressionsOf(question_.by, days, sql));
    expressions.of_interruption.insert(expressions.of_interruption.begin(),
                                       WindowOf(question_, "i.day", sql));
    const FleetSelection& select = question_.select;
    const bool by_unit =
        std::any_of(expressions.of_interruption.begin(), expressions.of_interruption.end(),
                    [](const std::string& key) { return key.find("u.") != std::string::npos; });
    const bool with_unit = !usage_ || question_.window_days > 0 || by_unit || !select.users.empty() ||
                           !select.accounts.empty() || !select.partitions.empty();
    SelectInterruptions(question_, with_unit, sql);
    ASSIGN_OR_RETURN(const FleetResult rows,
                     connection_.Query(Cat("SELECT ", absl::StrJoin(expressions.of_interruption, ", "),
                                           ", count(*) FROM interruption i",
                                           with_unit ? " JOIN unit u USING (cluster, unit, shard)" : "",
                                           sql.conditions(), " GROUP BY ", Positions()),
                                       sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const std::int64_t count = rows.Int(i, static_cast<int>(keys()) + 1);
      groups[GroupOf(rows, i, keys())].row.interruptions += count;
      total.row.interruptions += count;
    }
    return absl::OkStatus();
  }

  FleetConnection& connection_;
  const FleetQuestion& question_;
  bool usage_ = false;  // usage_day answers it
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
              SumColumns(false), " FROM attempt_day d WHERE d.cluster = p.cluster AND d.unit = p.unit",
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
