#include "sql/tables/cluster_reader.h"

#include <limits>

#include "sql/status_macros.h"
#include "sql/tables/imports.h"

namespace goodput {

absl::StatusOr<std::vector<LostRecords>> ClusterReader::LostBetween(const std::string& cluster,
                                                                    std::int64_t from_ns,
                                                                    std::int64_t to_ns) {
  auto known = lost_.find(cluster);
  if (known == lost_.end() || known->second.from_ns > from_ns) {
    ASSIGN_OR_RETURN(
        std::vector<LostRecords> records,
        LoadLostRecords(db_, cluster, from_ns, std::numeric_limits<std::int64_t>::max() - kLongestLossNs));
    known = lost_.insert_or_assign(cluster, Lost{from_ns, std::move(records)}).first;
  }
  std::vector<LostRecords> between;
  for (const LostRecords& lost : known->second.records) {
    if (lost.until_ns >= from_ns && lost.until_ns <= to_ns + kLongestLossNs && lost.since_ns <= to_ns)
      between.push_back(lost);
  }
  return between;
}

absl::StatusOr<bool> ClusterReader::AnyBlocks(std::int64_t job_id) {
  if (!no_blocks_ || job_id < no_blocks_->from || job_id > no_blocks_->next) {
    Statement next =
        db_.Prepare("SELECT job_id FROM record_block WHERE job_id >= ?1 ORDER BY job_id LIMIT 1");
    next.Bind(1, job_id);
    const bool there = next.Step();
    RETURN_IF_ERROR(next.status());
    no_blocks_ = NoBlocks{job_id, there ? next.Int(0) : std::numeric_limits<std::int64_t>::max()};
  }
  return no_blocks_->next == job_id;
}

absl::StatusOr<bool> ClusterReader::AnyImportedMarks() {
  if (!any_imported_marks_) {
    Statement any = db_.Prepare("SELECT 1 FROM mark_block LIMIT 1");
    any_imported_marks_ = any.Step();
    RETURN_IF_ERROR(any.status());
  }
  return *any_imported_marks_;
}

}  // namespace goodput
