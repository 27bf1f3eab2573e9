#include "sql/tables/coverage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sql/status_macros.h"
#include "sql/tables/event_cursor.h"

namespace goodput {
namespace {

// The nodes that recorded anything about a job since that time.
absl::StatusOr<std::set<std::string>> NodesHeardOf(Database& db, std::int64_t job_id, std::int64_t from_ns) {
  EventsOf which;
  which.job_id = job_id;
  which.from_ns = from_ns;
  EventCursor events(db, which);
  std::set<std::string> nodes;
  while (events.Next()) nodes.emplace(events.event().node);
  if (!events.status().ok()) return events.status();
  return nodes;
}

}  // namespace

absl::StatusOr<std::vector<LastRecord>> LastRecords(Database& db) {
  // If a node boots twice within an hour, file names do not tell which file is later, so the newest record of
  // all files counts. Where it is unknown: a file's name ends in its hour, and its last record has the
  // highest offset.
  Statement newest = db.Prepare(
      "SELECT node, id, max(substr(file, -17)),"
      " (SELECT max(other.newest_t_ns) FROM source AS other WHERE other.node = source.node)"
      " FROM source WHERE node NOT LIKE '@%' GROUP BY node");
  Statement event = db.Prepare("SELECT t_ns FROM event WHERE source_id = ?1 ORDER BY offset DESC LIMIT 1");
  Statement step = db.Prepare("SELECT max(last_t_ns) FROM step_block WHERE source_id = ?1");
  // If its records are summarized: the hour of its file.
  Statement hour = db.Prepare(
      "SELECT unixepoch(substr(?1, 1, 4) || '-' || substr(?1, 5, 2) || '-' || substr(?1, 7, 2) || ' ' ||"
      " substr(?1, 9, 2) || ':00')");
  std::vector<LastRecord> all;
  while (newest.Step()) {
    LastRecord last;
    last.node = newest.Text(0);
    // For a file last ingested by an earlier release, its records are read.
    if (!newest.IsNull(3)) {
      last.t_ns = newest.Int(3);
      all.push_back(std::move(last));
      continue;
    }
    event.Bind(1, newest.Int(1));
    if (event.Step()) last.t_ns = event.Int(0);
    event.Reset();
    step.Bind(1, newest.Int(1));
    if (step.Step()) last.t_ns = std::max(last.t_ns, step.Int(0));
    step.Reset();
    if (last.t_ns == 0 && hour.Bind(1, newest.Text(2)).Step()) last.t_ns = hour.Int(0) * 1'000'000'000;
    hour.Reset();
    if (last.t_ns > 0) all.push_back(std::move(last));
  }
  for (const Statement* statement : {&newest, &event, &step, &hour}) {
    if (!statement->status().ok()) return statement->status();
  }
  std::sort(all.begin(), all.end(), [](const LastRecord& a, const LastRecord& b) { return a.t_ns < b.t_ns; });
  return all;
}

absl::StatusOr<std::vector<SilentNodes>> JobsOnSilentNodes(
    Database& db, std::int64_t before_s, std::vector<std::string> (*node_names)(const std::string& list)) {
  Statement jobs =
      db.Prepare("SELECT job_id FROM job_seen WHERE run = '' ORDER BY last_t_s DESC, job_id DESC LIMIT 500");
  Statement last = db.Prepare(
      "SELECT json_extract(record, '$.state'), json_extract(record, '$.start_s'), json_extract(record, "
      "'$.nodes') FROM event WHERE job_id = ?1 AND kind IN ('attempt', 'queue') AND json_valid(record) "
      "ORDER BY t_ns DESC LIMIT 1");
  std::vector<SilentNodes> all;
  while (jobs.Step()) {
    SilentNodes job;
    job.job_id = jobs.Int(0);
    last.Bind(1, job.job_id);
    const bool running =
        last.Step() && last.Text(0) == "RUNNING" && !last.IsNull(1) && last.Int(1) < before_s;
    const std::int64_t start_s = running ? last.Int(1) : 0;
    const std::string nodes = running ? last.Text(2) : std::string();
    last.Reset();
    if (!running) continue;
    // Slurm's start has whole seconds, and clocks differ slightly.
    ASSIGN_OR_RETURN(const std::set<std::string> heard,
                     NodesHeardOf(db, job.job_id, (start_s - 2) * 1'000'000'000));
    for (std::string& node : node_names(nodes)) {
      ++job.nodes;
      if (heard.count(node) == 0) job.silent.push_back(std::move(node));
    }
    if (!job.silent.empty()) all.push_back(std::move(job));
  }
  for (const Statement* statement : {&jobs, &last}) {
    if (!statement->status().ok()) return statement->status();
  }
  return all;
}

}  // namespace goodput
