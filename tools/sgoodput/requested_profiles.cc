#include "tools/sgoodput/requested_profiles.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "tools/sources/logs/log_reader.h"

namespace goodput {
namespace {

// Maximum number of jobs to examine.
constexpr std::int64_t kMostJobs = 2000;
// Names that differ in more letters are considered different.
constexpr std::size_t kMostTypos = 2;

// The number of inserted, omitted, changed or swapped letters.
std::size_t Typos(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string Nearest(const std::string& name, const std::set<std::string>& known) {
  std::string nearest;
  std::size_t least = kMostTypos + 1;
  for (const std::string& one : known) {
    const std::size_t typos = Typos(name, one);
    if (typos < least) nearest = one;
    least = std::min(least, typos);
  }
  return nearest;
}

absl::StatusOr<std::vector<AskedProfile>> Asked(Database& db, const std::string& site_profiles,
                                                const std::vector<std::int64_t>& jobs) {
  std::map<std::string, AskedProfile> asked;
  Statement rows = db.Prepare(
      "SELECT DISTINCT json_extract(opt, '$.log_profile') FROM job_option WHERE job_id = ?1 AND "
      "json_extract(opt, '$.log_profile') IS NOT NULL");
  for (const std::int64_t job : jobs) {
    rows.Bind(1, job);
    while (rows.Step()) {
      AskedProfile& one = asked[rows.Text(0)];
      ++one.jobs;
      one.last_job = std::max(one.last_job, job);
    }
    if (!rows.status().ok()) return rows.status();
    rows.Reset();
  }
  std::vector<AskedProfile> all;
  if (asked.empty()) return all;
  std::set<std::string> known{std::string(kAutoProfile), std::string(kEpochsProfile),
                              std::string(kGoogleProfile)};
  for (const KnownProfile& one : LoadProfiles(site_profiles)) known.insert(one.name);
  for (auto& [name, one] : asked) {
    one.name = name;
    one.known = known.count(name) != 0;
    if (!one.known) one.meant = Nearest(name, known);
    all.push_back(one);
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<AskedProfile>> UnknownProfiles(Database& db, const std::string& site_profiles,
                                                          std::int64_t since_s) {
  Statement rows = db.Prepare(
      "SELECT DISTINCT job_id FROM job_seen WHERE run = '' AND last_t_s >= ?1 ORDER BY job_id DESC LIMIT ?2");
  rows.Bind(1, since_s).Bind(2, kMostJobs);
  std::vector<std::int64_t> jobs;
  while (rows.Step()) jobs.push_back(rows.Int(0));
  if (!rows.status().ok()) return rows.status();
  absl::StatusOr<std::vector<AskedProfile>> asked = Asked(db, site_profiles, jobs);
  if (!asked.ok()) return asked.status();
  asked->erase(
      std::remove_if(asked->begin(), asked->end(), [](const AskedProfile& one) { return one.known; }),
      asked->end());
  return asked;
}

absl::StatusOr<std::vector<AskedProfile>> AskedProfiles(Database& db, const std::string& site_profiles,
                                                        const std::vector<JobKey>& jobs) {
  std::vector<std::int64_t> ids;
  ids.reserve(jobs.size());
  for (const JobKey& job : jobs) ids.push_back(job.job_id);
  return Asked(db, site_profiles, ids);
}

}  // namespace goodput
