// The spool files from which the facts of one run come.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

class FactSources {
 public:
  // Both must outlive it.
  FactSources(Database& db, RunFacts& facts);

  absl::Status Load(std::int64_t source_id);
  // One that has been read.
  void Add(const SourceRow& source) { rows_.emplace(source.id, source); }
  // The loaded sources, by id.
  const std::map<std::int64_t, SourceRow>& rows() const { return rows_; }
  // References a record and adds its source to the facts. The name of a block's source is loaded only when
  // needed, since there may be a million.
  EvidenceRef Ref(const EventView& event);
  // The same for a source that is already loaded.
  EvidenceRef Ref(std::int64_t source_id, std::int64_t offset);

 private:
  std::int32_t Index(std::int64_t source_id, std::string_view node, std::string_view file);

  Database& db_;
  RunFacts& facts_;
  std::map<std::int64_t, SourceRow> rows_;
  absl::flat_hash_map<std::int64_t, std::int32_t> index_;  // position in the facts
};

}  // namespace goodput
