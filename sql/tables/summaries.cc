#include "sql/tables/summaries.h"

#include <algorithm>
#include <iterator>

#include "sql/tables/summary_pack.h"
#include "sql/text.h"

namespace goodput {
namespace {

bool ReadsBackAs(const EventRow& event, const EventRow& read) {
  return event.source_id == read.source_id && event.offset == read.offset && event.t_ns == read.t_ns &&
         event.kind == read.kind && SummaryOfRecord(event) == read.record;
}

}  // namespace

absl::Status AddSummary(Database& db, std::int64_t job_id, const std::string& cluster,
                        const std::vector<EventRow>& events, std::int64_t made_s) {
  if (events.empty()) return absl::OkStatus();
  const std::string data = PackSummary(events);
  // What it stands for is about to be deleted: so it must come back, before and not after.
  std::vector<EventRow> read;
  if (!UnpackSummary(data, read) || read.size() != events.size() ||
      !std::equal(events.begin(), events.end(), read.begin(), ReadsBackAs)) {
    return absl::InternalError(Cat("a summary of job ", job_id, " does not read back; nothing was removed"));
  }
  const auto [first, last] = std::minmax_element(
      events.begin(), events.end(), [](const EventRow& a, const EventRow& b) { return a.t_ns < b.t_ns; });
  Statement store = db.Prepare(
      "INSERT INTO summary (job_id, cluster, seq, events, first_t_ns, last_t_ns, made_s, data) SELECT ?1, ?2,"
      " coalesce(max(seq) + 1, 0), ?3, ?4, ?5, ?6, ?7 FROM summary WHERE job_id = ?1 AND cluster = ?2");
  store.Bind(1, job_id).Bind(2, cluster).Bind(3, static_cast<std::int64_t>(events.size()));
  store.Bind(4, first->t_ns).Bind(5, last->t_ns).Bind(6, made_s).BindBlob(7, data);
  return store.Run();
}

absl::Status AppendSummarized(Database& db, const std::optional<std::string>& cluster, std::int64_t job_id,
                              std::int64_t first_ns, std::int64_t end_ns, std::vector<EventRow>& events) {
  Statement rows = db.Prepare(
      "SELECT data FROM summary WHERE job_id = ?1 AND (?2 IS NULL OR cluster IN (?2, ''))"
      " AND last_t_ns >= ?3 AND first_t_ns < ?4 ORDER BY cluster, seq");
  rows.Bind(1, job_id).Bind(3, first_ns).Bind(4, end_ns);
  if (cluster) rows.Bind(2, *cluster);
  while (rows.Step()) {
    std::vector<EventRow> some;
    if (!UnpackSummary(rows.Bytes(0), some))
      return absl::DataLossError(Cat(db.path(), ": a summary of job ", job_id, " is damaged"));
    std::copy_if(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()),
                 std::back_inserter(events),
                 [&](const EventRow& event) { return event.t_ns >= first_ns && event.t_ns < end_ns; });
  }
  return rows.status();
}

absl::StatusOr<std::optional<std::int64_t>> SummarizedSince(Database& db, const std::vector<JobKey>& jobs) {
  std::optional<std::int64_t> since;
  for (const JobKey& job : jobs) {
    Statement rows = db.Prepare(
        "SELECT min(made_s) FROM (SELECT made_s FROM summary WHERE job_id = ?1 AND cluster IN (?2, '')"
        " UNION ALL SELECT made_s FROM record_block WHERE job_id = ?1 AND cluster IN (?2, ''))");
    rows.Bind(1, job.job_id).Bind(2, job.cluster);
    const std::optional<std::int64_t> made = rows.Step() ? rows.OptionalInt(0) : std::nullopt;
    if (!rows.status().ok()) return rows.status();
    if (made) since = std::min(since.value_or(*made), *made);
  }
  return since;
}

}  // namespace goodput
