// Daily copies of the database, complete and compact, in a folder of the site's choice, to restore from if
// the disk with the database is lost.
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

// The copies in a folder, oldest first; none if the folder does not exist.
std::vector<DatabaseCopy> CopiesIn(const std::string& folder);

// Writes a copy of the database as it is now, named after `now`, and removes all but the newest kCopiesKept.
// Others may read and write the database meanwhile. The copy appears atomically: it is written under another
// name, synced, and renamed. Returns its path.
absl::StatusOr<std::string> CopyDatabase(const std::string& database, const std::string& folder,
                                         absl::Time now);

}  // namespace goodput
