#include "sql/tables/heartbeats.h"

#include <simdjson.h>

#include <algorithm>
#include <tuple>

#include "spank/clock.h"
#include "spank/event.h"
#include "sql/spool_line.h"
#include "sql/text.h"

namespace goodput {
namespace {

absl::Status Bad(std::string_view what) {
  return absl::InvalidArgumentError(ToAbsl(what));
}

bool Text(simdjson::dom::object object, const char* key, std::string& into) {
  std::string_view text;
  if (object[key].get(text) != simdjson::SUCCESS) return false;
  into = text;
  return true;
}

bool Time(simdjson::dom::object object, const char* key, std::int64_t& into) {
  return object[key].get(into) == simdjson::SUCCESS && IsTime(into);
}

// More conditions on a row that has its `boot`: where nobody knows which boot that is, another clock is
// another boot.
std::string OfThisBoot(const NodeHeartbeat& heartbeat) {
  constexpr std::int64_t kSameClockNs = 500'000'000;
  if (heartbeat.boot != kUnknownBoot) return {};
  return Cat(" AND abs(clock_ns - ", heartbeat.t_ns - heartbeat.m_ns, ") <= ", kSameClockNs);
}

}  // namespace

absl::StatusOr<std::vector<Heartbeat>> LoadHeartbeats(Database& db, const JobKey& job) {
  // +cluster, and no ORDER BY: a list of two clusters and a sort would each need a temporary table, which
  // takes more than reading the rows of a job.
  Statement statement = db.Prepare(
      "SELECT node, since_ns, last_seen_ns, clock_ns FROM heartbeat WHERE job_id = ?1 AND +cluster IN (?2, "
      "'')"
      " AND since_ns >= ?3 AND since_ns < ?4");
  const std::int64_t from = job.from_s < INT64_MIN / kSecondNs ? INT64_MIN : job.from_s * kSecondNs;
  const std::int64_t until = job.until_s > INT64_MAX / kSecondNs ? INT64_MAX : job.until_s * kSecondNs;
  statement.Bind(1, job.job_id).BindView(2, job.cluster).Bind(3, from).Bind(4, until);
  std::vector<Heartbeat> rows;
  while (statement.Step()) {
    rows.push_back({statement.Text(0), statement.Int(1), statement.Int(2), statement.Int(3)});
  }
  if (!statement.status().ok()) return statement.status();
  std::sort(rows.begin(), rows.end(), [](const Heartbeat& a, const Heartbeat& b) {
    return std::tie(a.node, a.since_ns) < std::tie(b.node, b.since_ns);
  });
  return rows;
}

absl::StatusOr<NodeHeartbeat> ParseHeartbeat(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS)
    return Bad("not a JSON object");
  std::int64_t version = 0;
  if (object["v"].get(version) != simdjson::SUCCESS || version < 0) return Bad("no `v`");
  if (version > kFormatVersion) return Bad(Cat("format ", version, " is newer than this program"));
  NodeHeartbeat heartbeat;
  if (!Text(object, "node", heartbeat.node) || !Text(object, "boot", heartbeat.boot)) {
    return Bad("no `node` or `boot`");
  }
  if (!Time(object, "t", heartbeat.t_ns) || !Time(object, "m", heartbeat.m_ns)) return Bad("no `t` or `m`");
  simdjson::dom::array jobs;
  if (object["jobs"].get(jobs) != simdjson::SUCCESS) return Bad("no `jobs`");
  for (const simdjson::dom::element element : jobs) {
    NodeHeartbeat::Job job;
    simdjson::dom::object of;
    if (element.get(of) != simdjson::SUCCESS || of["job"].get(job.job_id) != simdjson::SUCCESS ||
        !Time(of, "since", job.since_ns)) {
      return Bad("a job without `job` or `since`");
    }
    Text(of, "cluster", job.cluster);
    heartbeat.jobs.push_back(std::move(job));
  }
  return heartbeat;
}

bool IsStored(Database& db, const NodeHeartbeat& heartbeat) {
  Statement same = db.Prepare(
      std::string("SELECT count(*), coalesce(sum(last_seen_ns = ?3 AND clock_ns = ?4), 0) FROM heartbeat"
                  " WHERE node = ?1 AND boot = ?2") +
      OfThisBoot(heartbeat));
  same.Bind(1, heartbeat.node).Bind(2, heartbeat.boot).Bind(3, heartbeat.t_ns);
  same.Bind(4, heartbeat.t_ns - heartbeat.m_ns);
  const auto jobs = static_cast<std::int64_t>(heartbeat.jobs.size());
  return same.Step() && same.Int(0) == jobs && same.Int(1) == jobs;
}

absl::Status StoreHeartbeat(Database& db, const NodeHeartbeat& heartbeat,
                            const std::string& fallback_cluster) {
  Statement later =
      db.Prepare("SELECT 1 FROM heartbeat WHERE node = ?1 AND boot = ?2 AND last_seen_ns - clock_ns > ?3" +
                 OfThisBoot(heartbeat) + " LIMIT 1");
  later.Bind(1, heartbeat.node).Bind(2, heartbeat.boot).Bind(3, heartbeat.m_ns);
  if (later.Step()) return absl::OkStatus();
  if (!later.status().ok()) return later.status();
  const std::int64_t clock_ns = heartbeat.t_ns - heartbeat.m_ns;
  Statement store = db.Prepare(
      "INSERT INTO heartbeat (cluster, node, job_id, since_ns, last_seen_ns, clock_ns, boot)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (job_id, cluster, node, since_ns) DO UPDATE SET"
      " last_seen_ns = excluded.last_seen_ns, clock_ns = excluded.clock_ns, boot = excluded.boot");
  for (const NodeHeartbeat::Job& job : heartbeat.jobs) {
    store.Bind(1, job.cluster.empty() ? fallback_cluster : job.cluster).Bind(2, heartbeat.node);
    store.Bind(3, job.job_id).Bind(4, job.since_ns).Bind(5, heartbeat.t_ns).Bind(6, clock_ns);
    store.Bind(7, heartbeat.boot);
    if (absl::Status status = store.Run(); !status.ok()) return status;
  }
  // What was not named now was not touched now.
  Statement forget = db.Prepare(
      "DELETE FROM heartbeat WHERE node = ?1 AND boot = ?2 AND (last_seen_ns <> ?3 OR clock_ns <> ?4)" +
      OfThisBoot(heartbeat));
  forget.Bind(1, heartbeat.node).Bind(2, heartbeat.boot).Bind(3, heartbeat.t_ns).Bind(4, clock_ns);
  return forget.Run();
}

}  // namespace goodput
