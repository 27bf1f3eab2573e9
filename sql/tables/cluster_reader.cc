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

absl::StatusOr<bool> ClusterReader::AnyImportedMarks() {
  if (!any_imported_marks_) {
    Statement any = db_.Prepare("SELECT 1 FROM mark_block LIMIT 1");
    any_imported_marks_ = any.Step();
    RETURN_IF_ERROR(any.status());
  }
  return *any_imported_marks_;
}

}  // namespace goodput
