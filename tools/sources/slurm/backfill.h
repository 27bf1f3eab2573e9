// Reads attempts, and outages of nodes while they ran, from slurmdbd into the database.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/sources/slurm/sacct.h"

namespace goodput {

// Idempotent. NotFound: sacct is not installed. Unavailable: there is no slurmdbd, or it did not answer.
absl::Status Backfill(Database& db, const SacctQuery& query, std::int64_t now_s);

}  // namespace goodput
