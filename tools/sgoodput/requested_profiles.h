// Log profiles that jobs asked for. Some nobody knows: sbatch takes any name, for a site's own are not known
// where it runs.
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
  std::string meant;  // of one that is not known: the known name that is most like it; empty: none is
  std::int64_t jobs = 0;
  std::int64_t last_job = 0;
};

// Unknown ones of jobs heard of since `since_s`, by name; `site_profiles` is the folder of the site's own.
absl::StatusOr<std::vector<AskedProfile>> UnknownProfiles(Database& db, const std::string& site_profiles,
                                                          std::int64_t since_s);
// All of these jobs.
absl::StatusOr<std::vector<AskedProfile>> AskedProfiles(Database& db, const std::string& site_profiles,
                                                        const std::vector<JobKey>& jobs);

}  // namespace goodput
