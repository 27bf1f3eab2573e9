// What became of the time of nodes, held by jobs or not: the result of `sgoodput report --fleet --by node`,
// day or month, and of `sgoodput --fleet-db URL report --fleet`.
//
// Slurm's `sreport cluster utilization` has the same columns, but counts time of which it knows nothing as
// idle, and machines that were powered down as idle or down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/fleet/node_days.h"
#include "tools/accounting/report/rollup_report.h"

namespace goodput {

struct UtilizationRow {
  std::vector<std::string> groups;  // one for each key
  std::int64_t nodes = 0;           // that were in it at any time
  // Of all nodes: sums of NodeTime.
  std::array<GpuNs, kNodeUseCount> ns{};
  std::array<GpuNs, kNodeUseCount> gpu_ns{};

  // All but powered-down machines, as Reported of sreport.
  GpuNs reported_ns() const;
  GpuNs reported_gpu_ns() const;
  // The share of the known time in which GPUs were allocated, or nodes if no GPUs are known; absent if
  // nothing is known.
  std::optional<double> allocated() const;
};

struct UtilizationReport {
  std::vector<std::string> keys;  // of cluster, node, day, month, all
  Ns begin = 0;
  Ns end = 0;
  std::vector<UtilizationRow> rows;
  UtilizationRow total;
  // Of the fleet database: its clusters.
  std::optional<std::vector<FleetClusterTime>> clusters;
};

// By the keys; rows in the order of their groups. Of one cluster, `cluster`.
UtilizationReport UtilizationOf(const std::vector<NodeDay>& days, const std::string& cluster,
                                std::vector<std::string> keys);

struct UtilizationFormat {
  bool parsable2 = false;  // fields separated by |
  bool csv = false;
  bool no_header = false;
};
// The table has hours of GPUs, or of nodes if no GPUs are known; the formats for scripts have both.
void PrintUtilization(const UtilizationReport& report, const UtilizationFormat& format);
// The object that `--json` prints; see report.schema.json.
std::string UtilizationAsJson(const UtilizationReport& report);

}  // namespace goodput
