// Whose a job is. A run's name says nothing of that: two users may have thought of the same one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

struct Owner {
  std::string user;  // empty: nothing says
  std::string account;
};

// As accounting has them, else as the queue watch saw them, else the user the job's prolog was for; of an
// import, who imported it. Of the last attempt.
absl::StatusOr<std::map<JobKey, Owner>> OwnersOf(Database& db, const std::vector<JobKey>& jobs);

}  // namespace goodput
