// Jobs that seem to be one training run though nobody gave them a name for it: for whoever asks to have them
// taken as one. Never done unasked, for a sweep looks the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/chains.h"

namespace goodput {

// What a job waits for, of Slurm's text of it: afterok:12(unfulfilled),afterany:13:14(unfulfilled),singleton.
struct Dependency {
  std::vector<std::int64_t> after;  // jobs that must end: afterok, afterany, afternotok, aftercorr
  bool singleton = false;           // all earlier jobs of the same user and name must end
};
Dependency ReadDependency(std::string_view text);

struct Chain {
  std::vector<JobKey> jobs;  // by submit; the one asked for is among them
  std::string inferred;      // by what, in words
};

// Of `jobs`, those connected with `of`, on its cluster and of its user:
//  - one waits for the other to end;
//  - one is a singleton, and the other is earlier and has the same name;
//  - same account, name and partition, and submitted once the other had started or was over.
// Jobs that were given different run names, or one only of them a name, are not connected.
Chain InferChain(const std::vector<JobOutline>& jobs, const JobKey& of);

// The same, of all jobs the database knows. NotFound: nobody says when `of` was submitted.
absl::StatusOr<Chain> FindChain(Database& db, const JobKey& of);

}  // namespace goodput
