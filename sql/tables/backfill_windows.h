// Records which periods were already read from slurmdbd, so that each is read only once.
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

// Sorted by begin; they neither overlap nor touch.
absl::StatusOr<std::vector<Stretch>> LoadBackfilled(Database& db, const std::string& cluster);
absl::Status MarkBackfilled(Database& db, const std::string& cluster, Stretch done);

// The parts of `wanted` that are in none of `done`, which is sorted by begin.
std::vector<Stretch> MissingOf(Stretch wanted, const std::vector<Stretch>& done);

}  // namespace goodput
