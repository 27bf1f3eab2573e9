// The rows of a cluster's nodes in the fleet database (node_day in sql/fleet/SCHEMA.md), as lines of
// PostgreSQL's COPY text format.
//
// Pure. All rows of a cluster's day are replaced together, so they carry one digest: what the cluster would
// send again is equal if and only if the digest is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/fleet/node_days.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"

namespace goodput {

struct NodeDayRows {
  std::int64_t day = 0;            // UTC, days since 1970-01-01
  std::string day_line;            // of cluster_day, without its revision, which is the last column
  Digest digest;                   // in day_line
  bool known = false;              // something is known of the day, of any node
  std::vector<std::string> lines;  // of node_day

  std::size_t size() const { return 1 + lines.size(); }
};

// The columns of the lines, in their order; of each NodeUse: n_NAME is ns and g_NAME is GPU-ns.
const std::vector<std::string>& ClusterDayColumns();
const std::vector<std::string>& NodeDayColumns();
// n_NAME and g_NAME.
std::vector<std::string> NodeUseColumns();

// By day. Names that the fleet database cannot tell apart are one node: the first one counts.
std::vector<NodeDayRows> RowsOfNodeDays(const std::vector<NodeDay>& days, const std::string& cluster);

}  // namespace goodput
