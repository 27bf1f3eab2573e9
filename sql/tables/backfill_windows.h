// Of which times slurmdbd was asked already, so that years need be read once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

// [from, to), seconds since the epoch.
struct Stretch {
  std::int64_t from_s = 0;
  std::int64_t to_s = 0;
};

// By begin; none touches the next.
absl::StatusOr<std::vector<Stretch>> LoadBackfilled(Database& db, const std::string& cluster);
absl::Status MarkBackfilled(Database& db, const std::string& cluster, Stretch done);

// What of `wanted` is in none of `done`, which are by begin.
std::vector<Stretch> MissingOf(Stretch wanted, const std::vector<Stretch>& done);

}  // namespace goodput
