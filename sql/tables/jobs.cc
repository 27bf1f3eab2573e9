#include "sql/tables/jobs.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/tables/backfill_windows.h"
#include "sql/text.h"

namespace goodput {
namespace {

// For a spool file whose records name no cluster: it matches any.
constexpr const char* kAnyCluster = "";

using Id = std::pair<std::int64_t, std::string>;  // job id, cluster
struct Submits {
  std::map<std::int64_t, SubmitFacts> by_time;
  bool heard = false;  // of events or steps
  std::int64_t heard_s = JobKey().heard_s;

  void Hear(std::int64_t t_s) {
    heard = true;
    heard_s = std::max(heard_s, t_s);
  }
};

// Ids of jobs, ascending.
using JobIds = std::vector<std::int64_t>;

// Job ids in [first, last], of which only some may be wanted.
struct IdRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const JobIds* wanted = nullptr;  // null: all of them

  bool Has(std::int64_t id) const {
    return wanted == nullptr || std::binary_search(wanted->begin(), wanted->end(), id);
  }
  bool is_everything() const { return first == IdRange().first && last == IdRange().last; }
};

// Few ranges that have all ids: to skip a row takes less than to ask anew.
std::vector<IdRange> RangesOf(const JobIds& ids) {
  constexpr std::int64_t kWorthSkipping = 4;
  std::vector<IdRange> ranges;
  for (const std::int64_t id : ids) {
    if (ranges.empty() || id > ranges.back().last + kWorthSkipping) {
      ranges.push_back({id, id});
      continue;
    }
    if (id > ranges.back().last + 1) ranges.back().wanted = &ids;
    ranges.back().last = id;
  }
  return ranges;
}

// "" for all jobs.
std::string Only(const IdRange& range, const char* word) {
  return range.is_everything() ? std::string() : Cat(" ", word, " job_id BETWEEN ?1 AND ?2");
}

void BindRange(const IdRange& range, Statement& rows) {
  if (!range.is_everything()) rows.Bind(1, range.first).Bind(2, range.last);
}

// The cluster of all of accounting, which is in its order; absent if there are several.
absl::StatusOr<std::optional<std::string>> OnlyCluster(Database& db) {
  std::optional<std::string> cluster;
  Statement first = db.Prepare("SELECT cluster FROM accounting ORDER BY cluster LIMIT 1");
  if (first.Step()) cluster = first.Text(0);
  if (!first.status().ok()) return first.status();
  if (!cluster) return cluster;
  Statement other = db.Prepare("SELECT 1 FROM accounting WHERE cluster > ?1 LIMIT 1");
  other.Bind(1, *cluster);
  if (other.Step()) cluster.reset();
  if (!other.status().ok()) return other.status();
  return cluster;
}

absl::Status AddAccounted(Database& db, const IdRange& range, const std::optional<std::string>& only_cluster,
                          std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id, cluster, submit_s, restarts, state, user, name, end_s FROM accounting",
                     Only(range, "WHERE"), only_cluster ? " AND cluster = ?3" : ""));
  BindRange(range, rows);
  if (only_cluster) rows.Bind(3, *only_cluster);
  while (rows.Step()) {
    if (!range.Has(rows.Int(0))) continue;
    // They come by cluster, id and time: the hint is right where there is one cluster.
    Submits& submits = jobs.try_emplace(jobs.end(), Id(rows.Int(0), rows.Text(1)))->second;
    submits.by_time[rows.Int(2)] = {rows.Int(2),  rows.OptionalInt(3), rows.Text(4),
                                    rows.Text(5), rows.Text(6),        rows.OptionalInt(7)};
  }
  return rows.status();
}

// Jobs with events, steps, or imported marks.
absl::Status AddSeen(Database& db, const IdRange& range, std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id, cluster, last_t_s FROM job_seen WHERE run = ''", Only(range, "AND")));
  BindRange(range, rows);
  std::vector<std::pair<Id, std::int64_t>> anywhere;
  while (rows.Step()) {
    if (!range.Has(rows.Int(0))) continue;
    Id id{rows.Int(0), rows.Text(1)};
    if (id.second == kAnyCluster) {
      anywhere.emplace_back(std::move(id), rows.Int(2));
    } else {
      jobs[std::move(id)].Hear(rows.Int(2));
    }
  }
  for (const auto& [id, t_s] : anywhere) {
    auto known = jobs.lower_bound({id.first, ""});
    if (known == jobs.end() || known->first.first != id.first) jobs[id].Hear(t_s);
    for (; known != jobs.end() && known->first.first == id.first; ++known) known->second.Hear(t_s);
  }
  return rows.status();
}

// Runs that are imports have negative ids and no cluster.
absl::Status AddImported(Database& db, const IdRange& range, std::map<Id, Submits>& jobs) {
  Statement rows =
      db.Prepare(Cat("SELECT job_id FROM imported WHERE job_id IS NOT NULL", Only(range, "AND")));
  BindRange(range, rows);
  while (rows.Step()) {
    if (range.Has(rows.Int(0))) jobs[{rows.Int(0), kAnyCluster}].heard = true;
  }
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

namespace {

absl::StatusOr<std::vector<JobKey>> KnownJobsIn(Database& db, const std::vector<IdRange>& ranges,
                                                const std::optional<std::string>& only_cluster = {}) {
  std::map<Id, Submits> jobs;
  for (const IdRange& range : ranges) {
    RETURN_IF_ERROR(AddAccounted(db, range, only_cluster, jobs));
    RETURN_IF_ERROR(AddSeen(db, range, jobs));
    RETURN_IF_ERROR(AddImported(db, range, jobs));
  }
  std::vector<JobKey> keys;
  for (auto& [id, submits] : jobs) {
    if (submits.heard && submits.by_time.size() != 1) {
      if (absl::Status status = AddWatched(db, id, submits); !status.ok()) return status;
    }
    keys.push_back({id.second, id.first});
    keys.back().heard = submits.heard;
    keys.back().heard_s = submits.heard_s;
    const SubmitFacts* before = nullptr;
    for (const auto& [submit_s, facts] : submits.by_time) {
      if (before != nullptr && IsAnotherJob(*before, facts)) {
        keys.back().until_s = submit_s;
        keys.back().over_s = OverAt(*before);
        keys.push_back({id.second, id.first, submit_s});
        keys.back().heard = submits.heard;
        keys.back().heard_s = submits.heard_s;
      }
      before = &facts;
    }
    if (before != nullptr) keys.back().over_s = OverAt(*before);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

absl::Status AddIds(Statement rows, JobIds& ids) {
  while (rows.Step()) ids.push_back(rows.Int(0));
  return rows.status();
}

void SortIds(JobIds& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// The clusters of jobs that were heard of.
absl::StatusOr<std::vector<std::string>> ClustersHeard(Database& db) {
  // Each is looked up after the one before: of many jobs there are few.
  Statement next =
      db.Prepare("SELECT cluster FROM job_seen WHERE run = '' AND cluster > ?1 ORDER BY cluster LIMIT 1");
  std::vector<std::string> clusters{kAnyCluster};
  for (bool there = true; there; next.Reset()) {
    next.Bind(1, clusters.back());
    there = next.Step();
    if (there) clusters.push_back(next.Text(0));
  }
  if (!next.status().ok()) return next.status();
  return clusters;
}

// When slurmdbd was asked about a cluster. Without a name in goodput.conf it is asked for its own cluster,
// whose name is in what it said.
absl::StatusOr<std::vector<Stretch>> AskedAbout(Database& db, const std::string& cluster,
                                                const std::optional<std::string>& only_cluster) {
  ASSIGN_OR_RETURN(std::vector<Stretch> asked, LoadBackfilled(db, cluster));
  if (asked.empty() && cluster == only_cluster) return LoadBackfilled(db, kAnyCluster);
  return asked;
}

// Jobs that were last heard of at `since_s` or later, or less than a day before slurmdbd was last asked.
absl::Status AddHeardSince(Database& db, std::int64_t since_s, const std::optional<std::string>& only_cluster,
                           JobIds& ids) {
  constexpr std::int64_t kDayS = 86'400;
  ASSIGN_OR_RETURN(const std::vector<std::string> clusters, ClustersHeard(db));
  for (const std::string& cluster : clusters) {
    const auto add = [&](std::int64_t from_s, std::int64_t to_s) {
      Statement heard = db.Prepare(
          "SELECT job_id FROM job_seen WHERE run = '' AND cluster = ?1 AND last_t_s >= ?2 AND last_t_s < ?3");
      heard.Bind(1, cluster).Bind(2, from_s).Bind(3, to_s);
      return AddIds(std::move(heard), ids);
    };
    std::int64_t at_s = std::numeric_limits<std::int64_t>::min();
    ASSIGN_OR_RETURN(const std::vector<Stretch> asked, AskedAbout(db, cluster, only_cluster));
    for (const Stretch& one : asked) {
      const std::int64_t over_until_s = std::min(since_s, one.to_s - kDayS);
      if (one.from_s >= over_until_s) continue;
      RETURN_IF_ERROR(add(at_s, one.from_s));
      at_s = over_until_s;
    }
    RETURN_IF_ERROR(add(at_s, std::numeric_limits<std::int64_t>::max()));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> WasSlurmdbdAsked(Database& db) {
  Statement any = db.Prepare("SELECT 1 FROM backfilled LIMIT 1");
  const bool asked = any.Step();
  if (!any.status().ok()) return any.status();
  return asked;
}

// The other jobs of their runs.
absl::Status AddRunsOf(Database& db, JobIds& ids) {
  std::set<std::string> runs;
  Statement names =
      db.Prepare("SELECT job_id, run FROM job_seen WHERE run <> '' AND job_id BETWEEN ?1 AND ?2");
  for (const IdRange& range : RangesOf(ids)) {
    BindRange(range, names);
    while (names.Step()) {
      if (range.Has(names.Int(0))) runs.insert(names.Text(1));
    }
    RETURN_IF_ERROR(names.status());
    names.Reset();
  }
  for (const std::string& run : runs) {
    Statement of_run = db.Prepare("SELECT job_id FROM job_seen WHERE run = ?1 AND run <> ''");
    of_run.Bind(1, run);
    RETURN_IF_ERROR(AddIds(std::move(of_run), ids));
  }
  SortIds(ids);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<JobKey>> KnownJobs(Database& db, std::optional<std::int64_t> job_id) {
  if (!job_id) return KnownJobsIn(db, {IdRange{}});
  const JobIds one{*job_id};
  return KnownJobsIn(db, RangesOf(one));
}

absl::StatusOr<std::vector<JobKey>> JobsSince(Database& db, std::int64_t since_s) {
  ASSIGN_OR_RETURN(const bool asked, WasSlurmdbdAsked(db));
  if (!asked) return KnownJobs(db);
  ASSIGN_OR_RETURN(const std::optional<std::string> only_cluster, OnlyCluster(db));
  JobIds ids;
  RETURN_IF_ERROR(AddIds(db.Prepare("SELECT job_id FROM accounting WHERE end_s IS NULL"), ids));
  Statement ended = db.Prepare("SELECT job_id FROM accounting WHERE end_s >= ?1");
  ended.Bind(1, since_s);
  RETURN_IF_ERROR(AddIds(std::move(ended), ids));
  RETURN_IF_ERROR(AddHeardSince(db, since_s, only_cluster, ids));
  RETURN_IF_ERROR(AddIds(db.Prepare("SELECT job_id FROM imported WHERE job_id IS NOT NULL"), ids));
  SortIds(ids);
  // To look up so many takes longer than to read all.
  constexpr std::size_t kMany = 100'000;
  if (ids.size() > kMany) return KnownJobs(db);
  RETURN_IF_ERROR(AddRunsOf(db, ids));
  return KnownJobsIn(db, RangesOf(ids), only_cluster);
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
  JobIds ids;
  ids.reserve(by_id.size());
  for (const auto& [id, of_id] : by_id) ids.push_back(id);
  for (const IdRange& range : RangesOf(ids)) {
    Statement rows = db.Prepare(
        "SELECT job_id, cluster, run, first_t_s, last_t_s FROM job_seen"
        " WHERE run <> '' AND job_id BETWEEN ?1 AND ?2 ORDER BY last_t_s");
    BindRange(range, rows);
    RETURN_IF_ERROR(take(std::move(rows)));
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
