#include "tools/sources/fleet_database/sums.h"

#include <cstddef>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/sources/fleet_database/question_sql.h"

namespace goodput {
namespace {

double Real(std::string_view digits) {
  double value = 0;
  return absl::SimpleAtod(ToAbsl(digits), &value) ? value : 0;
}

// Windows without rows are rows too.
void AddEmptyWindows(const FleetQuestion& question, std::map<FleetGroup, FleetSums>& groups) {
  if (question.window_days == 0) return;
  const std::int64_t days = (*question.select.end - *question.select.start) / kUtcDay;
  for (std::int64_t window = 0; window * question.window_days < days; ++window) {
    const auto next = groups.lower_bound({window, ""});
    if (next == groups.end() || next->first.first != window)
      groups[{window, question.by.front() == "all" ? "all" : kNoGroup}];
  }
}

}  // namespace

GpuNs WholeOf(std::string_view digits) {
  GpuNs value = 0;
  const bool negative = !digits.empty() && digits.front() == '-';
  for (const char c : digits.substr(negative ? 1 : 0)) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

void ProgramSums::SetIn(RollupRow& row) const {
  const GpuNs productive = row.gpu_ns[static_cast<std::size_t>(Bucket::kProductive)];
  if (productive <= 0) return;
  row.program_share = static_cast<double>(known_gpu_ns) / static_cast<double>(productive);
  if (peak <= 0) return;
  row.program = kept / peak / 1e9;
  if (known_gpu_ns == productive && row.sg_rg()) row.mpg = *row.sg_rg() * *row.program;
}

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

void AddFleetSums(const FleetResult& result, int row, int column, FleetSums& sums) {
  RollupRow& into = sums.row;
  const bool has_gpus = result.Text(row, column) == "t";
  if (has_gpus) {
    into.gap_gpu_ns += WholeOf(result.Text(row, column + 2));
  } else {
    into.gap_cpu_ns += static_cast<Ns>(WholeOf(result.Text(row, column + 1)));
  }
  for (int i = 0; i < kBucketCount; ++i) {
    const auto bucket = static_cast<std::size_t>(i);
    const auto ns = static_cast<Ns>(WholeOf(result.Text(row, column + 3 + i)));
    into.ns[bucket] += ns;
    if (has_gpus) {
      into.gpu_ns[bucket] += WholeOf(result.Text(row, column + 3 + kBucketCount + i));
    } else {
      into.cpu_ns[bucket] += ns;
    }
  }
  const int program = column + 3 + 2 * kBucketCount;
  sums.program.known_gpu_ns += WholeOf(result.Text(row, program));
  sums.program.kept += Real(result.Text(row, program + 1));
  sums.program.peak += Real(result.Text(row, program + 2));
}

absl::StatusOr<std::vector<FleetClusterTime>> TimesOfClusters(FleetConnection& connection) {
  ASSIGN_OR_RETURN(const FleetResult rows,
                   connection.Query("SELECT cluster, as_of_ns FROM cluster ORDER BY cluster"));
  std::vector<FleetClusterTime> times;
  for (int i = 0; i < rows.rows(); ++i) {
    times.push_back({std::string(rows.Text(i, 0)), std::nullopt});
    if (!rows.IsNull(i, 1)) times.back().as_of = rows.Int(i, 1);
  }
  return times;
}

RollupReport ReportOfSums(const FleetQuestion& question, FleetAnswer answer) {
  AddEmptyWindows(question, answer.groups);
  RollupReport report;
  report.clusters = std::move(answer.clusters);
  report.keys = question.by;
  report.by = absl::StrJoin(question.by, ",");
  report.windows = question.window_days > 0;
  // What says how machines were obtained is not in the fleet database: told_by is empty.
  report.consumption = HasKey(question, "consumption");
  report.waits = report.consumption || HasKey(question, "stockout");
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

}  // namespace goodput
