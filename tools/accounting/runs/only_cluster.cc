#include "tools/accounting/runs/only_cluster.h"

#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "sql/database.h"
#include "sql/status_macros.h"
#include "sql/tables/jobs.h"
#include "sql/text.h"

namespace goodput {

absl::StatusOr<std::string> OnlyCluster(const std::string& database) {
  ASSIGN_OR_RETURN(Database db, Database::Open(database, Database::Mode::kReadOnly));
  ASSIGN_OR_RETURN(const std::vector<JobKey> jobs, KnownJobs(db));
  std::set<std::string> clusters;
  for (const JobKey& job : jobs) {
    if (!job.cluster.empty()) clusters.insert(job.cluster);
  }
  if (clusters.size() == 1) return *clusters.begin();
  return absl::InvalidArgumentError(
      clusters.empty() ? Cat(database, " names no cluster so far; set `cluster` in goodput.conf")
                       : Cat(database, " has the clusters ", absl::StrJoin(clusters, ", "),
                             "; select one with -M CLUSTER, or set `cluster` in goodput.conf"));
}

}  // namespace goodput
