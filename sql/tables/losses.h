// What nodes say they lost: records that found no room, files that could not be copied, marks and signals
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
  std::map<std::string, std::int64_t> counts;  // by what was lost (spank/SPOOL_FORMAT.md, `counts`)
};

// The words of a node's file `counts`; words that are none are passed over.
NodeLosses ParseLosses(const std::string& node, std::string_view words);

bool IsStored(Database& db, const NodeLosses& losses);
// Makes it all that is known of that node's losses. Within the caller's transaction.
absl::Status StoreLosses(Database& db, const NodeLosses& losses);

// Every node that lost something.
absl::StatusOr<std::vector<NodeLosses>> LoadLosses(Database& db);

}  // namespace goodput
