// The spool files that the facts of one run are from.
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
  // By id, those loaded.
  const std::map<std::int64_t, SourceRow>& rows() const { return rows_; }
  // A record. Its source is named in the facts from then on; that of a block, of which there may be a
  // million, when somebody asks for it.
  EvidenceRef Ref(const EventView& event);
  // Of a source that was loaded.
  EvidenceRef Ref(std::int64_t source_id, std::int64_t offset);

 private:
  std::int32_t Index(std::int64_t source_id, std::string_view node, std::string_view file);

  Database& db_;
  RunFacts& facts_;
  std::map<std::int64_t, SourceRow> rows_;
  absl::flat_hash_map<std::int64_t, std::int32_t> index_;  // in the facts
};

}  // namespace goodput
