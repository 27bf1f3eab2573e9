// When nodes lost records because their spools had no room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct LostRecords {
  std::string node;
  std::int64_t since_ns = 0;  // after this
  std::int64_t until_ns = 0;  // and before this
  std::int64_t count = 0;
};

// A disk is hardly full for longer. What is said later is not looked for.
inline constexpr std::int64_t kLongestLossNs = 30LL * 24 * 3600 * 1'000'000'000;

// Those that nodes of the cluster lost in part between these times, by time.
absl::StatusOr<std::vector<LostRecords>> LoadLostRecords(Database& db, const std::string& cluster,
                                                         std::int64_t from_ns, std::int64_t to_ns);

}  // namespace goodput
