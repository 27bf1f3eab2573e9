// What tells which jobs may be one training run though nobody said so: names, owners, dependencies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// A job with all its attempts.
struct JobOutline {
  JobKey job;
  std::string user;
  std::string account;
  std::string partition;
  std::string name;
  std::string run;                        // --goodput-run
  std::int64_t submit_s = 0;              // the first
  std::optional<std::int64_t> start_s;    // the first; absent: it never had resources
  std::optional<std::int64_t> end_s;      // the last; absent: it has not ended
  std::vector<std::string> dependencies;  // as the queue watch saw them: afterok:12(unfulfilled),...
};

// NotFound: neither accounting nor the queue watch know when it was submitted.
absl::StatusOr<JobOutline> LoadOutline(Database& db, const JobKey& job);

// Ids of a cluster's jobs of this user and name, from accounting and the queue watch, ascending.
absl::StatusOr<std::vector<std::int64_t>> JobsNamed(Database& db, const std::string& cluster,
                                                    const std::string& user, const std::string& name);

struct WaitingJob {
  std::int64_t job_id = 0;
  std::string dependency;
};
// What a cluster's jobs of this user waited for, as the queue watch saw it, by id.
absl::StatusOr<std::vector<WaitingJob>> JobsThatWaited(Database& db, const std::string& cluster,
                                                       const std::string& user);

}  // namespace goodput
