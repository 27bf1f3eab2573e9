// The log profiles that jobs asked for. Some may be unknown: sbatch accepts any name, since it cannot know
// the site's own profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

struct AskedProfile {
  std::string name;
  bool known = false;
  std::string meant;  // for an unknown one: the most similar known name; empty: none
  std::int64_t jobs = 0;
  std::int64_t last_job = 0;
};

// Unknown profiles of jobs seen since `since_s`, by name; `site_profiles` is the folder of the site's
// profiles.
absl::StatusOr<std::vector<AskedProfile>> UnknownProfiles(Database& db, const std::string& site_profiles,
                                                          std::int64_t since_s);
// All profiles of these jobs.
absl::StatusOr<std::vector<AskedProfile>> AskedProfiles(Database& db, const std::string& site_profiles,
                                                        const std::vector<JobKey>& jobs);

}  // namespace goodput
