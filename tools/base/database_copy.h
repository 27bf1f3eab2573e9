// A copy of the database a day, whole and compact, in a folder of the site's: what there is to go on from
// when the disk with the database is lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

inline constexpr int kCopiesKept = 7;

// One of the copies in a folder: goodput-20261122T030000Z.db.
struct DatabaseCopy {
  std::string path;
  absl::Time made;
};

// Those there are, oldest first. A folder that is not there has none.
std::vector<DatabaseCopy> CopiesIn(const std::string& folder);

// Writes a copy of the database as it is now, named after `now`, and removes all but the newest kCopiesKept.
// Others read and write the database meanwhile. A copy is there whole or not at all: it is written under
// another name, brought to the disk, and named. Returns its path.
absl::StatusOr<std::string> CopyDatabase(const std::string& database, const std::string& folder,
                                         absl::Time now);

}  // namespace goodput
