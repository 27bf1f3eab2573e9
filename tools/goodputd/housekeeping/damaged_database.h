// A database that SQLite finds damaged: set aside, never deleted, and replaced by the newest good copy or a
// new one. Nodes' records that the spool still has and what slurmdbd knows come back by themselves, for what
// is in a database and how far each file was read are one: nothing is taken twice, and nothing left out.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

// What SQLite says is wrong with the database at `path`, looking at all of it; empty: nothing. An error where
// it could not look (it is locked, or the disk fails): then nothing is known.
absl::StatusOr<std::string> DamageOf(const std::string& path);

// Renames the database and what lies beside it to `PATH.damaged-20261122T101500Z`, and puts the newest good
// copy of `copies` (a folder; empty: none) in its place. Returns what was done, in words for a log.
absl::StatusOr<std::string> ReplaceDamaged(const std::string& path, const std::string& copies,
                                           absl::Time now);

}  // namespace goodput
