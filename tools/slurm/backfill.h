// What slurmdbd knows, into the database: attempts, and nodes that were down while they ran.
#ifndef GOODPUT_TOOLS_SLURM_BACKFILL_H_
#define GOODPUT_TOOLS_SLURM_BACKFILL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/slurm/sacct.h"

namespace goodput {

// Idempotent. NotFound: there is no sacct here. Unavailable: there is no slurmdbd, or it did not answer.
absl::Status Backfill(Database& db, const SacctQuery& query, std::int64_t now_s);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SLURM_BACKFILL_H_
