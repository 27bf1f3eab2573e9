// Infers which jobs belong to one training run although they have no run name. Only on request, since a sweep
// looks the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/chains.h"

namespace goodput {

// What a job waits for, from Slurm's text: afterok:12(unfulfilled),afterany:13:14(unfulfilled),singleton.
struct Dependency {
  std::vector<std::int64_t> after;  // jobs that must end: afterok, afterany, afternotok, aftercorr
  bool singleton = false;           // all earlier jobs of the same user and name must end
};
Dependency ReadDependency(std::string_view text);

struct Chain {
  std::vector<JobKey> jobs;  // by submit time, including the requested one
  std::string inferred;      // how they were joined, in words
};

// The jobs of `jobs` that are connected with `of`, on its cluster and of its user. Two jobs are connected if
//   - one waits for the other to end;
//   - one is a singleton, and the other is earlier and has the same name; or
//   - they have the same account, name and partition, and one was submitted after the other had started or
//     ended.
// Jobs with different run names are not connected, nor are a job with a name and one without.
Chain InferChain(const std::vector<JobOutline>& jobs, const JobKey& of);

// The same for all jobs in the database. NotFound: the submit time of `of` is unknown.
absl::StatusOr<Chain> FindChain(Database& db, const JobKey& of);

}  // namespace goodput
