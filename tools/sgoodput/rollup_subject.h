// What a run is grouped by in sums.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/accounting/report/report.h"
#include "tools/accounting/rollup/rollup.h"

namespace goodput {

// Features of nodes by cluster, loaded when needed.
using NodeFeatures = std::map<std::string, std::map<std::string, std::string>>;

// `with_features`: for groups by reservation or consumption. The subject borrows from `known`.
absl::StatusOr<RollupSubject> SubjectOf(const Report& report, bool with_features, Database& db,
                                        NodeFeatures& known);

}  // namespace goodput
