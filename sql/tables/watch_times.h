// The periods in which the queue watch ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

// One uninterrupted watch. It is known to have run until `end_ns`; open: no record says that it ended then.
struct WatchSpell {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool open = false;
};

// The watches of a cluster around [from_ns, to_ns]: from the last one that began by from_ns. Sorted by begin.
absl::StatusOr<std::vector<WatchSpell>> LoadWatches(Database& db, const std::string& cluster,
                                                    std::int64_t from_ns, std::int64_t to_ns);

// The begin of a cluster's first watch; absent: it has none.
absl::StatusOr<std::optional<std::int64_t>> FirstWatch(Database& db, const std::string& cluster);

// The clusters that have any.
absl::StatusOr<std::vector<std::string>> WatchedClusters(Database& db);

}  // namespace goodput
