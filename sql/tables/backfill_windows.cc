#include "sql/tables/backfill_windows.h"

#include <algorithm>

#include "sql/status_macros.h"

namespace goodput {

absl::StatusOr<std::vector<Stretch>> LoadBackfilled(Database& db, const std::string& cluster) {
  Statement rows = db.Prepare("SELECT from_s, to_s FROM backfilled WHERE cluster = ?1 ORDER BY from_s");
  rows.Bind(1, cluster);
  std::vector<Stretch> done;
  while (rows.Step()) done.push_back({rows.Int(0), rows.Int(1)});
  if (!rows.status().ok()) return rows.status();
  return done;
}

absl::Status MarkBackfilled(Database& db, const std::string& cluster, Stretch done) {
  if (done.from_s >= done.to_s) return absl::OkStatus();
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ASSIGN_OR_RETURN(const std::vector<Stretch> known, LoadBackfilled(db, cluster));
  Statement remove = db.Prepare("DELETE FROM backfilled WHERE cluster = ?1 AND from_s = ?2");
  for (const Stretch& one : known) {
    if (one.to_s < done.from_s || one.from_s > done.to_s) continue;
    done = {std::min(done.from_s, one.from_s), std::max(done.to_s, one.to_s)};
    remove.Bind(1, cluster).Bind(2, one.from_s);
    if (absl::Status status = remove.Run(); !status.ok()) return status;
  }
  Statement insert = db.Prepare("INSERT INTO backfilled (cluster, from_s, to_s) VALUES (?1, ?2, ?3)");
  insert.Bind(1, cluster).Bind(2, done.from_s).Bind(3, done.to_s);
  RETURN_IF_ERROR(insert.Run());
  return transaction.Commit();
}

std::vector<Stretch> MissingOf(Stretch wanted, const std::vector<Stretch>& done) {
  std::vector<Stretch> missing;
  std::int64_t at = wanted.from_s;
  for (const Stretch& one : done) {
    if (one.to_s <= at) continue;
    if (one.from_s >= wanted.to_s) break;
    if (one.from_s > at) missing.push_back({at, one.from_s});
    at = std::max(at, one.to_s);
  }
  if (at < wanted.to_s) missing.push_back({at, wanted.to_s});
  return missing;
}

}  // namespace goodput
