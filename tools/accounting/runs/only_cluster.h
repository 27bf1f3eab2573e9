// The cluster that a database is about, for programs that send its runs elsewhere.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// InvalidArgument: the database names no cluster, or several.
absl::StatusOr<std::string> OnlyCluster(const std::string& database);

}  // namespace goodput
