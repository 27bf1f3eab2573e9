#include "sql/tables/job_index.h"

#include <algorithm>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {

void SeenJobs::Note(std::int64_t job_id, std::string_view cluster, std::string_view run, std::int64_t t_s) {
  const auto [at, fresh] = spans_.try_emplace(Key(job_id, cluster, run), Span{t_s, t_s});
  at->second.first_s = std::min(at->second.first_s, t_s);
  at->second.last_s = std::max(at->second.last_s, t_s);
  if (!run.empty()) return;
  last_job_ = job_id;
  last_cluster_ = cluster;
  last_ = &at->second;
}

void SeenJobs::Add(std::int64_t job_id, std::string_view cluster, std::string_view run, std::int64_t t_ns) {
  const std::int64_t t_s = t_ns / 1'000'000'000;
  if (last_ != nullptr && last_job_ == job_id && last_cluster_ == cluster) {
    last_->first_s = std::min(last_->first_s, t_s);
    last_->last_s = std::max(last_->last_s, t_s);
  } else {
    Note(job_id, cluster, "", t_s);
  }
  if (!run.empty()) Note(job_id, cluster, run, t_s);
}

absl::Status SeenJobs::Flush(Database& db) {
  Statement store = db.Prepare(
      "INSERT INTO job_seen (job_id, cluster, run, first_t_s, last_t_s) VALUES (?1, ?2, ?3, ?4, ?5)"
      " ON CONFLICT (job_id, cluster, run) DO UPDATE SET first_t_s = min(first_t_s, excluded.first_t_s),"
      " last_t_s = max(last_t_s, excluded.last_t_s)");
  for (const auto& [key, span] : spans_) {
    store.Bind(1, std::get<0>(key)).Bind(2, std::get<1>(key)).Bind(3, std::get<2>(key));
    store.Bind(4, span.first_s).Bind(5, span.last_s);
    if (absl::Status status = store.Run(); !status.ok()) return status;
  }
  spans_.clear();
  last_ = nullptr;
  return absl::OkStatus();
}

absl::Status MoveSeenJobs(Database& db, std::int64_t source_id, const std::string& from,
                          const std::string& to) {
  constexpr const char* kOfSource =
      "(SELECT job_id FROM event WHERE source_id = ?1 AND job_id IS NOT NULL"
      " UNION SELECT job_id FROM step_block WHERE source_id = ?1)";
  Statement copy = db.Prepare(
      Cat("INSERT OR IGNORE INTO job_seen SELECT job_id, ?3, run, first_t_s, last_t_s FROM job_seen"
          " WHERE cluster = ?2 AND job_id IN ",
          kOfSource));
  copy.Bind(1, source_id).Bind(2, from).Bind(3, to);
  RETURN_IF_ERROR(copy.Run());
  Statement forget =
      db.Prepare(Cat("DELETE FROM job_seen WHERE cluster = ?2 AND job_id IN ", kOfSource,
                     " AND NOT EXISTS (SELECT 1 FROM event CROSS JOIN source ON source.id = event.source_id"
                     " AND source.cluster = ?2 AND source.id <> ?1 WHERE event.job_id = job_seen.job_id)"
                     " AND NOT EXISTS (SELECT 1 FROM record_block WHERE record_block.job_id = job_seen.job_id"
                     " AND record_block.cluster = ?2)"));
  forget.Bind(1, source_id).Bind(2, from);
  return forget.Run();
}

}  // namespace goodput
