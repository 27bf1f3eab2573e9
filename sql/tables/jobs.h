// Which jobs the database knows. A job id alone says little: clusters have the same ones, and a controller
// that lost its state, or came to the last, begins again with the first.
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

// A job: its id on its cluster, and since when the id has been its own. All it left lies in [from_s,
// until_s).
struct JobKey {
  std::string cluster;
  std::int64_t job_id = 0;
  std::int64_t from_s =
      std::numeric_limits<std::int64_t>::min();  // first submit of all but the first with this id
  std::int64_t until_s = std::numeric_limits<std::int64_t>::max();  // first submit of the next with this id
  bool heard = true;  // false: accounting alone knows of it, no event or step is worth looking for
  // When it was over for good, as accounting has it; max: not, or not known to be.
  std::int64_t over_s = std::numeric_limits<std::int64_t>::max();

  friend bool operator==(const JobKey& a, const JobKey& b) {
    return std::tie(a.cluster, a.job_id, a.from_s) == std::tie(b.cluster, b.job_id, b.from_s);
  }
  // For people and for failing tests.
  friend std::ostream& operator<<(std::ostream& out, const JobKey& job) {
    return out << job.cluster << "/" << job.job_id << " since " << job.from_s;
  }
  friend bool operator<(const JobKey& a, const JobKey& b) {
    return std::tie(a.job_id, a.cluster, a.from_s) < std::tie(b.job_id, b.cluster, b.from_s);
  }
};

// What tells a requeue, which keeps the id and gets a new submit time, from another job with an old id.
struct SubmitFacts {
  std::int64_t submit_s = 0;
  std::optional<std::int64_t> restarts;  // of this attempt
  std::string state;
  std::string user;
  std::string name;
  std::optional<std::int64_t> end_s;
};
// Of attempts with one id by submit time: is `next` another job than `before`? A restart count decides; where
// there is none, only an attempt that Slurm would requeue is followed by its own, and only of the same user
// and name.
bool IsAnotherJob(const SubmitFacts& before, const SubmitFacts& next);

// Every job of which anything is known (with this id, where one is given), ordered by id, cluster and time.
absl::StatusOr<std::vector<JobKey>> KnownJobs(Database& db,
                                              std::optional<std::int64_t> job_id = std::nullopt);

// A task of a job array, by what accounting or the queue watch says of it.
struct ArrayTask {
  std::string cluster;  // empty: not known
  std::int64_t job_id = 0;
  std::optional<std::int64_t> number;  // absent: those that are still pending, together
};
// Those of the array `array_job`; none where it is no array.
absl::StatusOr<std::vector<ArrayTask>> TasksOfArray(Database& db, std::int64_t array_job);

// The last run name (`--goodput-run`) each of the jobs gave.
absl::StatusOr<std::map<JobKey, std::string>> RunNames(Database& db, const std::vector<JobKey>& jobs);

// The jobs whose last run name is this.
absl::StatusOr<std::vector<JobKey>> JobsOfRun(Database& db, const std::string& run);

}  // namespace goodput
