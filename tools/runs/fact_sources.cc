#include "tools/runs/fact_sources.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "spank/event.h"
#include "sql/imports.h"
#include "sql/text.h"

namespace goodput {

absl::Status FactSources::Load(std::int64_t source_id) {
  if (rows_.count(source_id) != 0) return absl::OkStatus();
  absl::StatusOr<SourceRow> row = LoadSource(db_, source_id);
  if (!row.ok()) return row.status();
  rows_.emplace(source_id, *std::move(row));
  return absl::OkStatus();
}

EvidenceRef FactSources::Ref(std::int64_t source_id, std::int64_t offset) {
  auto found = index_.find(source_id);
  if (found == index_.end()) {
    const SourceRow& source = rows_[source_id];
    found = index_.emplace(source_id, static_cast<std::int32_t>(facts_.sources.size())).first;
    const bool imported = source.node == kImportNode;
    const bool of_log = imported || absl::EndsWith(source.file, ToAbsl(kLogFileEnding));
    facts_.sources.emplace_back(Cat(source.node, "/", source.file),
                                of_log ? Evidence::kLog : Evidence::kMark);
    facts_.sources.back().imported = imported;
  }
  return {found->second, offset};
}

}  // namespace goodput
