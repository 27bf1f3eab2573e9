#include "tools/accounting/runs/fact_sources.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "spank/event.h"
#include "sql/tables/imports.h"
#include "sql/text.h"

namespace goodput {

namespace {

// Of a database that outlives it.
class StoredSources : public SourceReader {
 public:
  explicit StoredSources(Database& db) : db_(db) {}
  std::string Name(std::int64_t id) const override {
    const absl::StatusOr<SourceRow> row = LoadSource(db_, id);
    return row.ok() ? Cat(row->node, "/", row->file) : std::string();
  }

 private:
  Database& db_;
};

}  // namespace

FactSources::FactSources(Database& db, RunFacts& facts) : db_(db), facts_(facts) {
  facts_.source_reader = std::make_shared<StoredSources>(db);
}

EvidenceRef FactSources::Ref(const EventView& event) {
  if (!event.file.empty()) return {Index(event.source_id, event.node, event.file), event.offset};
  const auto [found, fresh] =
      index_.try_emplace(event.source_id, static_cast<std::int32_t>(facts_.sources.size()));
  if (fresh) {
    facts_.sources.emplace_back(std::string());
    facts_.sources.back().id = event.source_id;
  }
  return {found->second, event.offset};
}

absl::Status FactSources::Load(std::int64_t source_id) {
  if (rows_.count(source_id) != 0) return absl::OkStatus();
  absl::StatusOr<SourceRow> row = LoadSource(db_, source_id);
  if (!row.ok()) return row.status();
  rows_.emplace(source_id, *std::move(row));
  return absl::OkStatus();
}

std::int32_t FactSources::Index(std::int64_t source_id, std::string_view node, std::string_view file) {
  const auto [found, fresh] = index_.try_emplace(source_id, static_cast<std::int32_t>(facts_.sources.size()));
  if (fresh) {
    const bool imported = node == kImportNode;
    const bool of_log = imported || absl::EndsWith(ToAbsl(file), ToAbsl(kLogFileEnding));
    facts_.sources.emplace_back(Cat(node, "/", file), of_log ? Evidence::kLog : Evidence::kMark);
    facts_.sources.back().imported = imported;
  }
  return found->second;
}

EvidenceRef FactSources::Ref(std::int64_t source_id, std::int64_t offset) {
  const SourceRow& source = rows_[source_id];
  return {Index(source_id, source.node, source.file), offset};
}

}  // namespace goodput
