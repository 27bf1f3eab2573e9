#include "sql/tables/watch_times.h"

#include <algorithm>
#include <optional>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// CROSS: events of the kind come first, by their index.
constexpr const char* kFromWatches =
    " FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster = ?1"
    " WHERE event.job_id IS NULL AND event.kind = 'watch'";

// The time of the last watch that began at or before this time.
absl::StatusOr<std::int64_t> LastBegin(Database& db, const std::string& cluster, std::int64_t by_ns) {
  Statement last = db.Prepare(Cat("SELECT t_ns", kFromWatches,
                                  " AND t_ns <= ?2 AND instr(record, '\"edge\":\"begin\"') > 0"
                                  " ORDER BY t_ns DESC LIMIT 1"));
  last.Bind(1, cluster).Bind(2, by_ns);
  const std::int64_t t = last.Step() ? last.Int(0) : by_ns;
  if (!last.status().ok()) return last.status();
  return t;
}

}  // namespace

absl::StatusOr<std::vector<WatchSpell>> LoadWatches(Database& db, const std::string& cluster,
                                                    std::int64_t from_ns, std::int64_t to_ns) {
  ASSIGN_OR_RETURN(const std::int64_t first, LastBegin(db, cluster, from_ns));
  Statement rows = db.Prepare(
      Cat("SELECT t_ns, CASE WHEN json_valid(record) THEN json_extract(record, '$.edge') END", kFromWatches,
          " AND t_ns BETWEEN ?2 AND ?3 ORDER BY t_ns, event.source_id, event.offset"));
  rows.Bind(1, cluster).Bind(2, first).Bind(3, to_ns);
  std::vector<WatchSpell> spells;
  while (rows.Step()) {
    const std::int64_t t = rows.Int(0);
    const std::string edge = rows.Text(1);
    // A `still` without a begin comes from a file that no longer exists: the watch ran at least then.
    if (edge == "begin" || spells.empty() || !spells.back().open) {
      spells.push_back({t, t, true});
    }
    spells.back().end_ns = std::max(spells.back().end_ns, t);
    if (edge == "end") spells.back().open = false;
  }
  if (!rows.status().ok()) return rows.status();
  if (spells.empty() || !spells.back().open) return spells;
  // A later record shows that the watch still ran.
  Statement next = db.Prepare(Cat("SELECT t_ns, instr(record, '\"edge\":\"begin\"') > 0", kFromWatches,
                                  " AND t_ns > ?2 ORDER BY t_ns LIMIT 1"));
  next.Bind(1, cluster).Bind(2, to_ns);
  if (next.Step() && next.Int(1) == 0) spells.back().end_ns = next.Int(0);
  if (!next.status().ok()) return next.status();
  return spells;
}

absl::StatusOr<std::optional<std::int64_t>> FirstWatch(Database& db, const std::string& cluster) {
  Statement row = db.Prepare(Cat("SELECT t_ns", kFromWatches, " ORDER BY t_ns LIMIT 1"));
  row.Bind(1, cluster);
  std::optional<std::int64_t> first;
  if (row.Step()) first = row.Int(0);
  if (!row.status().ok()) return row.status();
  return first;
}

absl::StatusOr<std::vector<std::string>> WatchedClusters(Database& db) {
  Statement rows = db.Prepare(
      "SELECT DISTINCT cluster FROM source WHERE node = '@controller' AND cluster <> '' ORDER BY 1");
  std::vector<std::string> clusters;
  while (rows.Step()) clusters.push_back(rows.Text(0));
  if (!rows.status().ok()) return rows.status();
  return clusters;
}

}  // namespace goodput
