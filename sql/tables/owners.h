// Who owns a job. A run name does not tell: two users may have chosen the same one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

struct Owner {
  std::string user;  // empty: unknown
  std::string account;
};

// Of the last attempt: from accounting, else the queue watch, else the user in the job's prolog; for an
// import, the user who imported it.
absl::StatusOr<std::map<JobKey, Owner>> OwnersOf(Database& db, const std::vector<JobKey>& jobs);

}  // namespace goodput
