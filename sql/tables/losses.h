// What nodes report as lost: records without disk space, files that could not be copied, marks and signals
// that were refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct NodeLosses {
  std::string node;
  std::map<std::string, std::int64_t> counts;  // by kind of loss (spank/SPOOL_FORMAT.md, `counts`)
};

// Parses a node's file `counts`; malformed words are ignored.
NodeLosses ParseLosses(const std::string& node, std::string_view words);

bool IsStored(Database& db, const NodeLosses& losses);
// Replaces the known losses of that node. Call within a transaction.
absl::Status StoreLosses(Database& db, const NodeLosses& losses);

// Every node that lost something.
absl::StatusOr<std::vector<NodeLosses>> LoadLosses(Database& db);

}  // namespace goodput
