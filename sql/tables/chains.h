// Finds what suggests that jobs without a run name belong to one training run: names, owners, dependencies.
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
  std::int64_t submit_s = 0;              // of the first attempt
  std::optional<std::int64_t> start_s;    // of the first attempt; absent: it never had resources
  std::optional<std::int64_t> end_s;      // of the last attempt; absent: it has not ended
  std::vector<std::string> dependencies;  // as recorded by the queue watch: afterok:12(unfulfilled),...
};

// NotFound: neither accounting nor the queue watch has its submit time.
absl::StatusOr<JobOutline> LoadOutline(Database& db, const JobKey& job);

// Ids of a cluster's jobs with this user and name, from accounting and the queue watch, ascending.
absl::StatusOr<std::vector<std::int64_t>> JobsNamed(Database& db, const std::string& cluster,
                                                    const std::string& user, const std::string& name);

struct WaitingJob {
  std::int64_t job_id = 0;
  std::string dependency;
};
// The dependencies of this user's jobs on a cluster, as recorded by the queue watch, by id.
absl::StatusOr<std::vector<WaitingJob>> JobsThatWaited(Database& db, const std::string& cluster,
                                                       const std::string& user);

}  // namespace goodput
