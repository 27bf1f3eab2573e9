// From when to when the controller's watch looked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

// One uninterrupted watch. It is known to have looked at `end_ns`; open: nothing says that it ended then.
struct WatchSpell {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool open = false;
};

// Those of a cluster that a time within [from_ns, to_ns] falls into, or between which it falls: from the last
// that began by from_ns on. By begin.
absl::StatusOr<std::vector<WatchSpell>> LoadWatches(Database& db, const std::string& cluster,
                                                    std::int64_t from_ns, std::int64_t to_ns);

// Of which clusters there are any.
absl::StatusOr<std::vector<std::string>> WatchedClusters(Database& db);

}  // namespace goodput
