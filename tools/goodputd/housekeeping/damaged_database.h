// Handles a database that SQLite finds damaged: renames it, never deletes it, and replaces it with the newest
// good copy or a new one. Records that are still in the spool or in slurmdbd then come back by themselves,
// without duplicates or gaps, since rows and file offsets are stored together.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

// Checks the whole database at `path` and returns what SQLite finds wrong; empty: nothing. An error: it could
// not be checked (it is locked, or the disk fails).
absl::StatusOr<std::string> DamageOf(const std::string& path);

// Renames the database and its side files to `PATH.damaged-20261122T101500Z`, and replaces it with the newest
// good copy in `copies` (a folder; empty: none). Returns a description for the log.
absl::StatusOr<std::string> ReplaceDamaged(const std::string& path, const std::string& copies,
                                           absl::Time now);

}  // namespace goodput
