// The spool files that the facts of one run are from.
#pragma once

#include <cstdint>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "sql/database.h"
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
  // A record of a source that was loaded, which is named in the facts from then on.
  EvidenceRef Ref(std::int64_t source_id, std::int64_t offset);
  // Of a node's spool file that need not have been: it is named when somebody asks for it. Its index.
  std::int32_t OfNode(std::int64_t source_id);

 private:
  Database& db_;
  RunFacts& facts_;
  std::map<std::int64_t, SourceRow> rows_;
  absl::flat_hash_map<std::int64_t, std::int32_t> index_;  // in the facts
};

}  // namespace goodput
