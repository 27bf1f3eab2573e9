#include "sql/tables/owners.h"

#include <pwd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// For a few jobs, each is looked up; for many, all rows are read.
constexpr std::size_t kFew = 64;

using ById = std::map<std::int64_t, std::vector<const JobKey*>>;

absl::Status AddAccounted(Database& db, const ById& by_id, std::map<JobKey, Owner>& owners) {
  std::map<JobKey, std::int64_t> submitted;  // of the attempt that was used
  const auto take = [&](Statement rows) {
    while (rows.Step()) {
      const auto found = by_id.find(rows.Int(0));
      if (found == by_id.end()) continue;
      const std::string cluster = rows.Text(1);
      const std::int64_t submit_s = rows.Int(2);
      std::string user = rows.Text(3);
      if (user.empty()) continue;
      for (const JobKey* job : found->second) {
        if (job->cluster != cluster || submit_s < job->from_s || submit_s >= job->until_s) continue;
        const auto [last, fresh] = submitted.try_emplace(*job, submit_s);
        if (!fresh && last->second > submit_s) continue;
        last->second = submit_s;
        owners[*job] = {user, rows.Text(4)};
      }
    }
    return rows.status();
  };
  const std::string select = "SELECT job_id, cluster, submit_s, user, account FROM accounting";
  if (by_id.size() > kFew) return take(db.Prepare(select));
  for (const auto& [id, jobs] : by_id) {
    Statement rows = db.Prepare(Cat(select, " WHERE job_id = ?1"));
    rows.Bind(1, id);
    if (absl::Status status = take(std::move(rows)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status AddImported(Database& db, const ById& by_id, std::map<JobKey, Owner>& owners) {
  Statement rows = db.Prepare("SELECT job_id, user FROM imported WHERE job_id < 0");
  while (rows.Step()) {
    const auto found = by_id.find(rows.Int(0));
    if (found != by_id.end()) owners[*found->second.front()] = {rows.Text(1), ""};
  }
  return rows.status();
}

absl::StatusOr<std::optional<Owner>> Watched(Database& db, const JobKey& job) {
  Statement rows = db.Prepare(
      "SELECT json_extract(record, '$.user'), json_extract(record, '$.account')"
      " FROM event JOIN source ON source.id = event.source_id"
      " WHERE event.job_id = ?1 AND source.cluster = ?2 AND kind IN ('queue', 'attempt') AND "
      "json_valid(record)"
      " AND json_extract(record, '$.submit_s') >= ?3 AND json_extract(record, '$.submit_s') < ?4"
      " ORDER BY t_ns DESC LIMIT 1");
  rows.Bind(1, job.job_id).Bind(2, job.cluster).Bind(3, job.from_s).Bind(4, job.until_s);
  if (rows.Step() && !rows.Text(0).empty()) return std::optional<Owner>({rows.Text(0), rows.Text(1)});
  if (!rows.status().ok()) return rows.status();
  return std::optional<Owner>();
}

std::string UserOf(std::int64_t uid) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(static_cast<uid_t>(uid), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? Cat(uid) : std::string(found->pw_name);
}

// From its node's record of its begin.
absl::StatusOr<std::optional<Owner>> Begun(Database& db, const JobKey& job) {
  Statement rows = db.Prepare(
      "SELECT json_extract(record, '$.uid') FROM event JOIN source ON source.id = event.source_id"
      " WHERE event.job_id = ?1 AND (source.cluster = ?2 OR source.cluster = '')"
      " AND kind IN ('job_prolog', 'step_start') AND json_valid(record)"
      " AND json_extract(record, '$.uid') IS NOT NULL"
      " AND t_ns / 1000000000 >= ?3 AND t_ns / 1000000000 < ?4 ORDER BY t_ns DESC LIMIT 1");
  rows.Bind(1, job.job_id).Bind(2, job.cluster).Bind(3, job.from_s).Bind(4, job.until_s);
  if (rows.Step()) return std::optional<Owner>({UserOf(rows.Int(0)), ""});
  if (!rows.status().ok()) return rows.status();
  return std::optional<Owner>();
}

}  // namespace

absl::StatusOr<std::map<JobKey, Owner>> OwnersOf(Database& db, const std::vector<JobKey>& jobs) {
  ById by_id;
  for (const JobKey& job : jobs) by_id[job.job_id].push_back(&job);
  std::map<JobKey, Owner> owners;
  RETURN_IF_ERROR(AddAccounted(db, by_id, owners));
  RETURN_IF_ERROR(AddImported(db, by_id, owners));
  for (const JobKey& job : jobs) {
    if (owners.count(job) != 0) continue;
    absl::StatusOr<std::optional<Owner>> owner = Watched(db, job);
    if (owner.ok() && !*owner) owner = Begun(db, job);
    if (!owner.ok()) return owner.status();
    owners[job] = owner->value_or(Owner{});
  }
  return owners;
}

}  // namespace goodput
