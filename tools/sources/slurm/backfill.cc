#include "tools/sources/slurm/backfill.h"

#include <algorithm>

#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "tools/sources/slurm/sacctmgr.h"

namespace goodput {

absl::Status Backfill(Database& db, const SacctQuery& query, std::int64_t now_s) {
  ASSIGN_OR_RETURN(SacctText attempts, Sacct().Run(query));
  RETURN_IF_ERROR(StoreAccounting(db, attempts.rows, now_s));
  if (attempts.rows.empty()) return absl::OkStatus();
  // Only an outage that began while one of these attempts ran can have ended it.
  std::int64_t since_s = now_s;
  for (const AccountingRow& row : attempts.rows) since_s = std::min(since_s, row.start_s.value_or(now_s));
  ASSIGN_OR_RETURN(std::vector<NodeOutage> outages, RunNodeEvents(since_s));
  return StoreOutages(db, outages);
}

}  // namespace goodput
