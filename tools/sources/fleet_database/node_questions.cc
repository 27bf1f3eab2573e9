#include "tools/sources/fleet_database/node_questions.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/sources/fleet_database/question_sql.h"
#include "tools/sources/fleet_database/sums.h"

namespace goodput {
namespace {

constexpr std::string_view kOfKnownProgram =
    " FILTER (WHERE d.program_e9 IS NOT NULL AND d.peak_flops IS NOT NULL)";

// What is summed of a bucket's time: w_NAME and b_NAME, in the order of AddFleetSums.
struct TimeColumn {
  std::string name;
  bool held = false;  // nodes are held meanwhile
};

std::vector<TimeColumn> TimeColumns() {
  std::vector<TimeColumn> columns;
  for (const char* kind : {"w_", "b_"}) {
    for (const Bucket bucket : AllBuckets())
      columns.push_back({Cat(kind, BucketName(bucket)), HoldsNodes(bucket)});
  }
  return columns;
}

// The part of `sum` of an attempt with `c` nodes that belongs to the node at place `at`, from 1: the first
// ones have the remainder.
std::string ShareOf(std::string_view sum) {
  return Cat("div(coalesce(", sum, ", 0) + c - at, c)");
}

class NodeAnswering {
 public:
  NodeAnswering(FleetConnection& connection, const FleetQuestion& question)
      : connection_(connection), question_(question) {}

  absl::Status Run() {
    RETURN_IF_ERROR(connection_.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    RETURN_IF_ERROR(AddNodes());
    RETURN_IF_ERROR(AddNoNode());
    RETURN_IF_ERROR(CountRuns());
    RETURN_IF_ERROR(CountInterruptions());
    ASSIGN_OR_RETURN(sums.clusters, TimesOfClusters(connection_));
    Judge();
    return connection_.Execute("COMMIT");
  }

  FleetAnswer sums;

 private:
  // Columns before the sums: window, cluster, node, runs, time for which the node was held.
  static constexpr int kSums = 5;

  std::string From(const char* join, const FleetSql& sql) const {
    return Cat(" FROM attempt_day d ", join, " attempt_nodes a USING (cluster, unit, attempt, shard)",
               NeedsUnit(question_) ? " JOIN unit u USING (cluster, unit, shard)" : "", sql.conditions());
  }

  // An attempt's rows are added up before they are divided among its nodes.
  absl::Status AddNodes() {
    FleetSql sql;
    std::string whole =
        Cat("SELECT ", WindowOf(question_, "d.day", sql),
            " AS number, d.cluster, d.unit, d.shard, d.has_gpus, a.nodes,"
            " cardinality(a.nodes) AS c, sum(d.gap_ns) AS gap_ns, sum(d.gap_gpu_ns) AS gap_gpu_ns,"
            " sum(d.b_productive)",
            kOfKnownProgram,
            " AS known, sum(d.b_productive * d.peak_flops * d.program_e9) AS kept,"
            " sum(d.b_productive * d.peak_flops)",
            kOfKnownProgram, " AS peak");
    std::string shares =
        Cat("bool_or(has_gpus), sum(", ShareOf("gap_ns"), "), sum(", ShareOf("gap_gpu_ns"), ")");
    std::string held;
    std::string any;
    for (const TimeColumn& column : TimeColumns()) {
      if (!column.held) {
        shares += ", 0";
        continue;
      }
      whole += Cat(", sum(d.", column.name, ") AS ", column.name);
      shares += Cat(", sum(", ShareOf(column.name), ")");
      any += Cat(any.empty() ? "" : ", ", "d.", column.name);
      if (column.name.front() == 'w')
        held += Cat(held.empty() ? "" : " + ", "coalesce(", column.name, ", 0)");
    }
    // An attempt that waits holds no nodes yet.
    sql.Where(Cat("coalesce(", any, ") IS NOT NULL"));
    SelectDays(question_, false, sql);
    whole += Cat(From("JOIN", sql), " GROUP BY 1, 2, 3, 4, 5, 6");
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(
            Cat("WITH whole AS (", whole, ") SELECT number, cluster, node, count(DISTINCT unit), sum(", held,
                "), ", shares, ", sum(", ShareOf("known"), "), sum(kept / c), sum(peak / c)",
                " FROM whole CROSS JOIN LATERAL unnest(nodes) WITH ORDINALITY AS n (node, at)"
                " GROUP BY number, cluster, node, has_gpus"),
            sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      FleetSums& row = Add(rows, i);
      row.row.node_ns += static_cast<Ns>(WholeOf(rows.Text(i, 4)));
    }
    return absl::OkStatus();
  }

  // Waiting belongs to no node, nor does time on nodes that are not known.
  absl::Status AddNoNode() {
    constexpr std::string_view kUnknown = " FILTER (WHERE a.nodes IS NULL)";
    FleetSql sql;
    const std::string window = WindowOf(question_, "d.day", sql);
    std::string of_none = "a.nodes IS NULL";
    std::string columns =
        Cat("bool_or(d.has_gpus), sum(d.gap_ns)", kUnknown, ", sum(d.gap_gpu_ns)", kUnknown);
    for (const TimeColumn& column : TimeColumns()) {
      columns += Cat(", sum(d.", column.name, ")", column.held ? kUnknown : "");
      if (!column.held) of_none += Cat(" OR d.", column.name, " IS NOT NULL");
    }
    SelectDays(question_, false, sql);
    const std::string known = "a.nodes IS NULL AND d.program_e9 IS NOT NULL AND d.peak_flops IS NOT NULL";
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(Cat("SELECT ", window, ", d.cluster, NULL, count(DISTINCT d.unit) FILTER (WHERE ",
                              of_none, "), 0, ", columns, ", sum(d.b_productive) FILTER (WHERE ", known,
                              "), sum(d.b_productive * d.peak_flops * d.program_e9)", kUnknown,
                              ", sum(d.b_productive * d.peak_flops) FILTER (WHERE ", known, ")",
                              From("LEFT JOIN", sql), " GROUP BY 1, 2, d.has_gpus"),
                          sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      if (rows.Int(i, 3) > 0) Add(rows, i);
    }
    return absl::OkStatus();
  }

  static FleetGroup GroupOfNode(const FleetResult& rows, int row) {
    const std::string_view node = rows.Text(row, 2);
    return {rows.Int(row, 0),
            Cat(rows.Text(row, 1), std::string(1, kBetweenKeys), node.empty() ? kNoGroup : node)};
  }

  FleetSums& Add(const FleetResult& rows, int row) {
    FleetSums& into = sums.groups[GroupOfNode(rows, row)];
    into.row.runs += rows.Int(row, 3);
    AddFleetSums(rows, row, kSums, into);
    AddFleetSums(rows, row, kSums, sums.total);
    return into;
  }

  // Of the total: a run has many nodes.
  absl::Status CountRuns() {
    FleetSql sql;
    SelectDays(question_, false, sql);
    ASSIGN_OR_RETURN(const FleetResult rows,
                     connection_.Query(Cat("SELECT count(*) FROM (SELECT DISTINCT d.shard, d.cluster, d.unit",
                                           From("LEFT JOIN", sql), ") runs"),
                                       sql.values()));
    sums.total.row.runs = rows.Int(0, 0);
    return absl::OkStatus();
  }

  absl::Status CountInterruptions() {
    FleetSql sql;
    const std::string window = WindowOf(question_, "i.day", sql);
    SelectInterruptions(question_, true, sql);
    ASSIGN_OR_RETURN(
        const FleetResult rows,
        connection_.Query(
            Cat("SELECT ", window,
                ", i.cluster, i.node, count(*), count(*) FILTER (WHERE i.node <> ''"
                " AND i.cause = 'node_fail') FROM interruption i JOIN unit u USING (cluster, unit, shard)",
                sql.conditions(), " GROUP BY 1, 2, 3"),
            sql.values()));
    for (int i = 0; i < rows.rows(); ++i) {
      RollupRow& row = sums.groups[GroupOfNode(rows, i)].row;
      row.interruptions += rows.Int(i, 3);
      row.node_failures += rows.Int(i, 4);
      sums.total.row.interruptions += rows.Int(i, 3);
    }
    return absl::OkStatus();
  }

  void Judge() {
    std::map<std::pair<std::int64_t, std::string>, std::vector<RollupRow*>> clusters;  // by window
    std::map<std::int64_t, std::int64_t> held;
    for (auto& [group, sum] : sums.groups) {
      const std::string cluster = group.second.substr(0, group.second.find(kBetweenKeys));
      clusters[{group.first, cluster}].push_back(&sum.row);
      if (sum.row.node_ns > 0) ++held[group.first];
    }
    for (const auto& [cluster, rows] : clusters) JudgeNodes(rows, held[cluster.first]);
  }

  FleetConnection& connection_;
  const FleetQuestion& question_;
};

}  // namespace

absl::StatusOr<RollupReport> AskFleetByNode(FleetConnection& connection, const FleetQuestion& question) {
  for (const std::string& key : question.by) {
    if (key != "node" && key != "cluster")
      return absl::InvalidArgumentError("--by: node can only be combined with cluster");
  }
  FleetQuestion both = question;
  both.by = {"cluster", "node"};
  NodeAnswering answer(connection, both);
  RETURN_IF_ERROR(answer.Run());
  return ReportOfSums(both, std::move(answer.sums));
}

}  // namespace goodput
