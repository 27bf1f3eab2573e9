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
#include "tools/sources/fleet_database/node_questions.h"
#include "tools/sources/fleet_database/question_sql.h"
#include "tools/sources/fleet_database/sums.h"

namespace goodput {
namespace {

FleetGroup GroupOf(const FleetResult& result, int row, std::size_t keys) {
  std::string group;
  for (std::size_t i = 0; i < keys; ++i) {
    if (i > 0) group.push_back(kBetweenKeys);
    const std::string_view part = result.Text(row, static_cast<int>(i) + 1);
    group += part.empty() ? kNoGroup : part;
  }
  return {result.Int(row, 0), group};
}

// A run whose rows differ in this is in several rows of the answer.
bool DividesRuns(const std::string& key) {
  return key == "month" || key == "day" || key == "cause" || key == "reservation" || key == "consumption" ||
         key == "stockout";
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
  // A run with machines of two reservations is one run of reserved machines.
  if (by && HasKey(question, "consumption")) return nullptr;
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
    ASSIGN_OR_RETURN(sums.clusters, TimesOfClusters(connection_));
    return connection_.Execute("COMMIT");
  }

  FleetAnswer sums;

 private:
  // The rows that are selected, and their keys; the first key is the window.
  struct Rows {
    FleetSql sql;
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
    FleetSql interruptions;
    if (with_keys) {
      ASSIGN_OR_RETURN(KeyExpressions expressions, ExpressionsOf(question_.by, rows.sql, interruptions));
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
    if (NeedsUnit(question_) || HasKey(question_, "run") || HasKey(question_, "stockout")) return false;
    if (select.truncate || question_.window_days > 0 || (!select.start && !select.end)) return true;
    const auto bound = [](const std::optional<Ns>& t, Ns none) { return std::to_string(t.value_or(none)); };
    ASSIGN_OR_RETURN(
        const FleetResult left_out,
        connection_.Query("SELECT EXISTS (SELECT 1 FROM unit WHERE end_ns < $1::bigint) OR"
                          " EXISTS (SELECT 1 FROM unit WHERE begin_ns > $2::bigint AND end_ns > $2::bigint)",
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
      AddFleetSums(rows, i, column, sums.groups[GroupOf(rows, i, keys())]);
      AddFleetSums(rows, i, column, sums.total);
    }
    return runs != nullptr ? absl::OkStatus() : CountRuns();
  }

  // Their number is the column after the keys.
  void AddRuns(const FleetResult& rows, int row) {
    const std::int64_t runs = rows.Int(row, static_cast<int>(keys()) + 1);
    sums.groups[GroupOf(rows, row, keys())].row.runs += runs;
    sums.total.row.runs += runs;
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
    sums.total.row.runs = whole.Int(0, 0);
    return absl::OkStatus();
  }

  absl::Status CountInterruptions() {
    FleetSql days;
    FleetSql sql;
    ASSIGN_OR_RETURN(KeyExpressions expressions, ExpressionsOf(question_.by, days, sql));
    expressions.of_interruption.insert(expressions.of_interruption.begin(),
                                       WindowOf(question_, "i.day", sql));
    const bool by_unit =
        std::any_of(expressions.of_interruption.begin(), expressions.of_interruption.end(),
                    [](const std::string& key) { return key.find("u.") != std::string::npos; });
    const bool with_unit = !usage_ || question_.window_days > 0 || by_unit;
    SelectInterruptions(question_, with_unit, sql);
    ASSIGN_OR_RETURN(const FleetResult rows,
                     connection_.Query(Cat("SELECT ", absl::StrJoin(expressions.of_interruption, ", "),
                                           ", count(*) FROM interruption i",
                                           with_unit ? " JOIN unit u USING (cluster, unit, shard)" : "",
                                           sql.conditions(), " GROUP BY ", Positions()),
                                       sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      const std::int64_t count = rows.Int(i, static_cast<int>(keys()) + 1);
      sums.groups[GroupOf(rows, i, keys())].row.interruptions += count;
      sums.total.row.interruptions += count;
    }
    return absl::OkStatus();
  }

  FleetConnection& connection_;
  const FleetQuestion& question_;
  bool usage_ = false;  // usage_day answers it
};

using SumsByUnit = std::map<std::pair<std::string, std::string>, FleetSums>;  // by cluster and unit

// The columns of a list of units that their sums need.
enum class UnitColumn : std::uint8_t { kCluster, kUnit, kShard, kBegin, kEnd };

// A question of its own, because Citus does not join a selection of units with all their rows.
absl::StatusOr<SumsByUnit> SumsOfUnits(FleetConnection& connection, const FleetResult& units) {
  if (units.rows() == 0) return SumsByUnit();
  std::array<std::vector<std::string>, 3> keys;
  Ns begin = INT64_MAX;
  Ns end = INT64_MIN;
  const auto column = [](UnitColumn of) { return static_cast<int>(of); };
  for (int i = 0; i < units.rows(); ++i) {
    for (std::size_t key = 0; key < keys.size(); ++key)
      keys.at(key).emplace_back(units.Text(i, static_cast<int>(key)));
    begin = std::min(begin, units.Int(i, column(UnitColumn::kBegin)));
    end = std::max(end, units.Int(i, column(UnitColumn::kEnd)));
  }
  // To plan for the partitions of all months would take longer than to answer.
  ASSIGN_OR_RETURN(
      const FleetResult rows,
      connection.Query(
          Cat("SELECT d.cluster, d.unit, ", SumColumns(false),
              " FROM attempt_day d JOIN unnest($1::text[], $2::text[], $3::bigint[])"
              " AS page (cluster, unit, shard) USING (cluster, unit, shard)"
              " WHERE d.month >= date_trunc('month', $4::timestamp)::date AND d.month <= $5::date"
              " GROUP BY 1, 2"),
          {FleetArray(keys[0]), FleetArray(keys[1]), FleetArray(keys[2]), DateOf(begin), DateOf(end)}));
  SumsByUnit sums;
  for (int i = 0; i < rows.rows(); ++i)
    AddFleetSums(rows, i, 2, sums[{std::string(rows.Text(i, 0)), std::string(rows.Text(i, 1))}]);
  return sums;
}

}  // namespace

absl::StatusOr<RollupReport> AskFleet(FleetConnection& connection, const FleetQuestion& question) {
  RETURN_IF_ERROR(CheckTimes(question));
  if (HasKey(question, "node")) return AskFleetByNode(connection, question);
  Answering answer(connection, question);
  RETURN_IF_ERROR(answer.Run());
  return ReportOfSums(question, std::move(answer.sums));
}

absl::StatusOr<FleetRuns> RunsOfFleet(FleetConnection& connection, const FleetSelection& select,
                                      std::int64_t limit) {
  FleetSql sql;
  SelectUnits(select, sql);
  RETURN_IF_ERROR(connection.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  ASSIGN_OR_RETURN(
      const FleetResult rows,
      connection.Query(
          Cat("SELECT u.cluster, u.unit, u.shard, u.begin_ns, u.end_ns, c.url, u.job_id_text, u.run,"
              " u.user_name, u.account, u.state, u.final, u.gpus, u.attempts, u.interruptions"
              " FROM unit u JOIN cluster c USING (cluster)",
              sql.conditions(), " ORDER BY u.begin_ns DESC, u.cluster, u.unit LIMIT ", limit + 1),
          sql.values()));
  ASSIGN_OR_RETURN(const SumsByUnit sums_of, SumsOfUnits(connection, rows));
  RETURN_IF_ERROR(connection.Execute("COMMIT"));
  FleetRuns found;
  found.more = rows.rows() > limit;
  for (int i = 0; i < rows.rows() && i < limit; ++i) {
    FleetRun run;
    const auto text = [&](int column) { return std::string(rows.Text(i, column)); };
    run.cluster = text(0);
    run.unit = text(1);
    run.begin = rows.Int(i, 3);
    run.end = rows.Int(i, 4);
    run.cluster_url = text(5);
    run.job_id_text = text(6);
    run.run = text(7);
    run.user = text(8);
    run.account = text(9);
    run.state = text(10);
    run.final = rows.Text(i, 11) == "t";
    run.gpus = rows.Int(i, 12);
    run.attempts = rows.Int(i, 13);
    const auto known = sums_of.find({run.cluster, run.unit});
    FleetSums sums = known == sums_of.end() ? FleetSums() : known->second;
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
