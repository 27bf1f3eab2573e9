// Which jobs the database knows. A job id is not unique: clusters use the same ids, and a controller that
// lost its state or reached its last id starts again with the first.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

// A job: its id on its cluster, and the period in which the id belonged to it. All its records lie in
// [from_s, until_s).
struct JobKey {
  std::string cluster;
  std::int64_t job_id = 0;
  // Submit time; the minimum for the first job with this id.
  std::int64_t from_s = std::numeric_limits<std::int64_t>::min();
  // Submit time of the next job with this id; the maximum for the last.
  std::int64_t until_s = std::numeric_limits<std::int64_t>::max();
  bool heard = true;  // false: only accounting knows it; there are no events or steps to look for
  // When something was heard of the id last; the minimum: nothing was.
  std::int64_t heard_s = std::numeric_limits<std::int64_t>::min();
  // When it finally ended, according to accounting; max: not, or unknown.
  std::int64_t over_s = std::numeric_limits<std::int64_t>::max();

  friend bool operator==(const JobKey& a, const JobKey& b) {
    return std::tie(a.cluster, a.job_id, a.from_s) == std::tie(b.cluster, b.job_id, b.from_s);
  }
  // For messages and failing tests.
  friend std::ostream& operator<<(std::ostream& out, const JobKey& job) {
    return out << job.cluster << "/" << job.job_id << " since " << job.from_s;
  }
  friend bool operator<(const JobKey& a, const JobKey& b) {
    return std::tie(a.job_id, a.cluster, a.from_s) < std::tie(b.job_id, b.cluster, b.from_s);
  }
};

// What distinguishes a requeue, which keeps the id and gets a new submit time, from another job with the same
// id.
struct SubmitFacts {
  std::int64_t submit_s = 0;
  std::optional<std::int64_t> restarts;  // of this attempt
  std::string state;
  std::string user;
  std::string name;
  std::optional<std::int64_t> end_s;
};
// For attempts with one id by submit time: is `next` another job than `before`? The restart count decides.
// Without it, `next` is the same job only if Slurm would requeue `before` and user and name are the same.
bool IsAnotherJob(const SubmitFacts& before, const SubmitFacts& next);

// Every known job (with this id, if given), by id, cluster and time.
absl::StatusOr<std::vector<JobKey>> KnownJobs(Database& db,
                                              std::optional<std::int64_t> job_id = std::nullopt);

// The known jobs that may have existed at that time or later, each with the other jobs of its run, in the
// same order; it may be all known jobs. Those that are left out are over: no attempt in accounting lasted
// until then, nothing was heard of them since, and slurmdbd was asked for the day after what was heard last.
absl::StatusOr<std::vector<JobKey>> JobsSince(Database& db, std::int64_t since_s);

// A task of a job array, according to accounting or the queue watch.
struct ArrayTask {
  std::string cluster;  // empty: unknown
  std::int64_t job_id = 0;
  std::optional<std::int64_t> number;  // absent: all tasks that are still pending
};
// The tasks of the array `array_job`; none if it is not an array.
absl::StatusOr<std::vector<ArrayTask>> TasksOfArray(Database& db, std::int64_t array_job);

// The last run name (`--goodput-run`) that each job gave.
absl::StatusOr<std::map<JobKey, std::string>> RunNames(Database& db, const std::vector<JobKey>& jobs);

// The jobs whose last run name is `run`.
absl::StatusOr<std::vector<JobKey>> JobsOfRun(Database& db, const std::string& run);

}  // namespace goodput
