#include "sql/tables/jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// For a spool file whose records name no cluster: it matches any.
constexpr const char* kAnyCluster = "";

using Id = std::pair<std::int64_t, std::string>;  // job id, cluster
struct Submits {
  std::map<std::int64_t, SubmitFacts> by_time;
  bool heard = false;  // of events or steps
};

// " WHERE x = ?1" for one job id, "" for all.
std::string Only(std::optional<std::int64_t> job_id, const char* column, const char* word) {
  return job_id ? Cat(" ", word, " ", column, " = ?1") : std::string();
}

absl::Status AddAccounted(Database& db, std::optional<std::int64_t> job_id, std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id, cluster, submit_s, restarts, state, user, name, end_s FROM accounting",
                     Only(job_id, "job_id", "WHERE")));
  if (job_id) rows.Bind(1, *job_id);
  while (rows.Step()) {
    // They come by cluster, id and time: the hint is right where there is one cluster.
    Submits& submits = jobs.try_emplace(jobs.end(), Id(rows.Int(0), rows.Text(1)))->second;
    submits.by_time[rows.Int(2)] = {rows.Int(2),  rows.OptionalInt(3), rows.Text(4),
                                    rows.Text(5), rows.Text(6),        rows.OptionalInt(7)};
  }
  return rows.status();
}

// Jobs with events, steps, or imported marks.
absl::Status AddSeen(Database& db, std::optional<std::int64_t> job_id, std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id, cluster FROM job_seen WHERE run = ''", Only(job_id, "job_id", "AND")));
  if (job_id) rows.Bind(1, *job_id);
  std::vector<Id> anywhere;
  while (rows.Step()) {
    Id id{rows.Int(0), rows.Text(1)};
    if (id.second == kAnyCluster) {
      anywhere.push_back(std::move(id));
    } else {
      jobs[id].heard = true;
    }
  }
  for (const Id& id : anywhere) {
    auto known = jobs.lower_bound({id.first, ""});
    if (known == jobs.end() || known->first.first != id.first) jobs[id].heard = true;
    for (; known != jobs.end() && known->first.first == id.first; ++known) known->second.heard = true;
  }
  return rows.status();
}

// Runs that are imports have negative ids and no cluster.
absl::Status AddImported(Database& db, std::optional<std::int64_t> job_id, std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id FROM imported WHERE job_id IS NOT NULL", Only(job_id, "job_id", "AND")));
  if (job_id) rows.Bind(1, *job_id);
  while (rows.Step()) jobs[{rows.Int(0), kAnyCluster}].heard = true;
  return rows.status();
}

// The attempts of one id that the queue watch recorded. While a requeued attempt completes, its record
// already has the next restart count, so the lowest one counts.
absl::Status AddWatched(Database& db, const Id& id, Submits& submits) {
  Statement rows = db.Prepare(
      "SELECT json_extract(record, '$.submit_s'), min(json_extract(record, '$.restart')),"
      " json_extract(record, '$.state'), json_extract(record, '$.user'), json_extract(record, '$.name'), "
      "max(t_ns)"
      " FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster = ?2"
      " WHERE job_id = ?1 AND kind IN ('queue', 'attempt')"
      " AND json_extract(record, '$.submit_s') IS NOT NULL GROUP BY 1");
  rows.Bind(1, id.first).Bind(2, id.second);
  while (rows.Step()) {
    const auto [at, fresh] = submits.by_time.try_emplace(rows.Int(0));
    SubmitFacts& facts = at->second;
    if (fresh) facts = {rows.Int(0), std::nullopt, rows.Text(2), rows.Text(3), rows.Text(4), std::nullopt};
    if (!facts.restarts) facts.restarts = rows.OptionalInt(1);
  }
  return rows.status();
}

// Slurm does not restart a job that ended in this way; a requeued one has a next attempt, or will.
std::int64_t OverAt(const SubmitFacts& last) {
  const bool for_good = last.state == "COMPLETED" || last.state == "FAILED" || last.state == "CANCELLED" ||
                        last.state == "TIMEOUT" || last.state == "OUT_OF_MEMORY" || last.state == "DEADLINE";
  return for_good && last.end_s ? *last.end_s : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

bool IsAnotherJob(const SubmitFacts& before, const SubmitFacts& next) {
  // A job that gave nodes back continues in another row with the same count.
  if (before.state == "RESIZING") return false;
  if (next.restarts) return *next.restarts == 0;
  return before.user != next.user || before.name != next.name;
}

absl::StatusOr<std::vector<JobKey>> KnownJobs(Database& db, std::optional<std::int64_t> job_id) {
  std::map<Id, Submits> jobs;
  RETURN_IF_ERROR(AddAccounted(db, job_id, jobs));
  RETURN_IF_ERROR(AddSeen(db, job_id, jobs));
  RETURN_IF_ERROR(AddImported(db, job_id, jobs));
  std::vector<JobKey> keys;
  for (auto& [id, submits] : jobs) {
    if (submits.heard && submits.by_time.size() != 1) {
      if (absl::Status status = AddWatched(db, id, submits); !status.ok()) return status;
    }
    keys.push_back({id.second, id.first});
    keys.back().heard = submits.heard;
    const SubmitFacts* before = nullptr;
    for (const auto& [submit_s, facts] : submits.by_time) {
      if (before != nullptr && IsAnotherJob(*before, facts)) {
        keys.back().until_s = submit_s;
        keys.back().over_s = OverAt(*before);
        keys.push_back({id.second, id.first, submit_s});
        keys.back().heard = submits.heard;
      }
      before = &facts;
    }
    if (before != nullptr) keys.back().over_s = OverAt(*before);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

namespace {

constexpr const char* kUserOf = "CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END";
constexpr const char* kNameOf = "CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END";
constexpr const char* kOfTheWatch = "job_id IS NOT NULL AND kind IN ('queue', 'attempt')";

absl::Status AddAccountedTasks(Database& db, std::int64_t array_job, std::vector<ArrayTask>& tasks) {
  // "12_" to "12`", the character after "_": 12_3, and 12_[4-9] of pending tasks.
  Statement rows = db.Prepare(
      "SELECT DISTINCT cluster, job_id, job_id_text FROM accounting WHERE job_id_text > ?1 || '_' AND "
      "job_id_text < ?1 || '`'");
  const std::string id = std::to_string(array_job);
  rows.Bind(1, id);
  while (rows.Step()) {
    ArrayTask task{rows.Text(0), rows.Int(1), std::nullopt};
    std::int64_t number = 0;
    if (absl::SimpleAtoi(rows.Text(2).substr(id.size() + 1), &number)) task.number = number;
    tasks.push_back(std::move(task));
  }
  return rows.status();
}

// The array's own id is that of one of its tasks; all have its owner and name.
absl::Status AddWatchedTasks(Database& db, std::int64_t array_job, std::vector<ArrayTask>& tasks) {
  Statement looks =
      db.Prepare(Cat("SELECT DISTINCT ", kUserOf, ", ", kNameOf, " FROM event WHERE job_id = ?1 AND ",
                     kOfTheWatch, " AND instr(record, '\"array_job\":') > 0"));
  looks.Bind(1, array_job);
  std::vector<std::pair<std::string, std::string>> found;
  while (looks.Step()) found.emplace_back(looks.Text(0), looks.Text(1));
  if (!looks.status().ok()) return looks.status();
  for (const auto& [user, name] : found) {
    Statement rows =
        db.Prepare(Cat("SELECT DISTINCT job_id, json_extract(record, '$.cluster'), json_extract(record, "
                       "'$.array_task') FROM event "
                       "WHERE ",
                       kUserOf, " = ?1 AND ", kNameOf, " = ?2 AND ", kOfTheWatch,
                       " AND json_extract(record, '$.array_job') = ?3"));
    rows.Bind(1, user).Bind(2, name).Bind(3, array_job);
    while (rows.Step()) tasks.push_back({rows.Text(1), rows.Int(0), rows.OptionalInt(2)});
    if (!rows.status().ok()) return rows.status();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ArrayTask>> TasksOfArray(Database& db, std::int64_t array_job) {
  std::vector<ArrayTask> tasks;
  RETURN_IF_ERROR(AddAccountedTasks(db, array_job, tasks));
  RETURN_IF_ERROR(AddWatchedTasks(db, array_job, tasks));
  return tasks;
}

absl::StatusOr<std::map<JobKey, std::string>> RunNames(Database& db, const std::vector<JobKey>& jobs) {
  std::map<std::int64_t, std::vector<const JobKey*>> by_id;
  for (const JobKey& job : jobs) by_id[job.job_id].push_back(&job);
  std::map<JobKey, std::string> names;
  const auto take = [&](Statement rows) {
    while (rows.Step()) {
      const auto found = by_id.find(rows.Int(0));
      if (found == by_id.end()) continue;
      const std::string cluster = rows.Text(1);
      for (const JobKey* job : found->second) {
        const bool here = cluster == job->cluster || cluster == kAnyCluster;
        if (here && rows.Int(4) >= job->from_s && rows.Int(3) < job->until_s) names[*job] = rows.Text(2);
      }
    }
    return rows.status();
  };
  // For a few jobs, each is looked up; for many, all names are read.
  constexpr std::size_t kFew = 64;
  const std::string select = "SELECT job_id, cluster, run, first_t_s, last_t_s FROM job_seen WHERE run <> ''";
  if (by_id.size() > kFew) {
    if (absl::Status status = take(db.Prepare(Cat(select, " ORDER BY last_t_s"))); !status.ok())
      return status;
  } else {
    for (const auto& [id, of_id] : by_id) {
      Statement rows = db.Prepare(Cat(select, " AND job_id = ?1 ORDER BY last_t_s"));
      rows.Bind(1, id);
      if (absl::Status status = take(std::move(rows)); !status.ok()) return status;
    }
  }
  Statement imports = db.Prepare("SELECT job_id, run FROM imported WHERE job_id IS NOT NULL");
  while (imports.Step()) {
    const auto found = by_id.find(imports.Int(0));
    if (found != by_id.end()) names[*found->second.front()] = imports.Text(1);
  }
  if (!imports.status().ok()) return imports.status();
  return names;
}

absl::StatusOr<std::vector<JobKey>> JobsOfRun(Database& db, const std::string& run) {
  Statement rows = db.Prepare(
      "SELECT job_id FROM job_seen WHERE run = ?1 AND run <> '' UNION"
      " SELECT job_id FROM imported WHERE run = ?1 AND job_id IS NOT NULL");
  rows.Bind(1, run);
  std::vector<JobKey> known;
  while (rows.Step()) {
    ASSIGN_OR_RETURN(std::vector<JobKey> of_id, KnownJobs(db, rows.Int(0)));
    known.insert(known.end(), of_id.begin(), of_id.end());
  }
  if (!rows.status().ok()) return rows.status();
  const absl::StatusOr<std::map<JobKey, std::string>> names = RunNames(db, known);
  if (!names.ok()) return names.status();
  std::vector<JobKey> jobs;
  for (const auto& [job, name] : *names) {
    if (name == run) jobs.push_back(job);
  }
  return jobs;
}

}  // namespace goodput
