// Events on their way into the database, of whatever files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/ingest/many_rows.h"

namespace goodput {

struct NewEvent {
  static constexpr std::string_view kInto = "event (source_id, offset, t_ns, kind, job_id, record)";
  static constexpr int kColumns = 6;
  void Bind(Statement& statement, int first) const {
    statement.Bind(first, source_id).Bind(first + 1, offset).Bind(first + 2, t_ns).BindView(first + 3, kind);
    statement.Bind(first + 4, job_id).BindView(first + 5, record);
  }

  std::int64_t source_id;
  std::int64_t offset;
  std::int64_t t_ns;
  std::string_view kind;
  std::optional<std::int64_t> job_id;
  std::string_view record;
};

class NewEvents {
 public:
  explicit NewEvents(Database& db) : rows_(db) {}

  // The record must stay until Flush. Its kind need not: who parsed it may forget it.
  absl::Status Add(NewEvent event) {
    auto kind = kinds_.find(event.kind);
    if (kind == kinds_.end()) kind = kinds_.emplace(event.kind).first;
    event.kind = *kind;
    return rows_.Add(event);
  }
  absl::Status Flush() { return rows_.Flush(); }

 private:
  ManyRows<NewEvent> rows_;
  std::set<std::string, std::less<>> kinds_;
};

}  // namespace goodput
