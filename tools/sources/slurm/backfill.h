// What slurmdbd knows, into the database: attempts, and nodes that were down while they ran.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/sources/slurm/sacct.h"

namespace goodput {

// Idempotent. NotFound: there is no sacct here. Unavailable: there is no slurmdbd, or it did not answer.
absl::Status Backfill(Database& db, const SacctQuery& query, std::int64_t now_s);

}  // namespace goodput
