// Files of which nothing is in the database yet, each of which becomes a row once it is known how far it was
// taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/ingest/many_rows.h"

namespace goodput {

// Its texts stay until it is a row.
struct NewSource {
  static constexpr std::string_view kInto =
      "source (id, cluster, node, file, offset, records, bad, newest_t_ns)";
  static constexpr int kColumns = 8;
  void Bind(Statement& statement, int first) const {
    statement.Bind(first, id).BindView(first + 1, cluster).BindView(first + 2, node);
    statement.BindView(first + 3, file).Bind(first + 4, end).Bind(first + 5, records).Bind(first + 6, bad);
    statement.Bind(first + 7, newest_t_ns);
  }

  std::int64_t id;
  std::string_view cluster;
  std::string_view node;
  std::string_view file;
  std::int64_t end;  // of what was taken
  std::int64_t records;
  std::int64_t bad;
  std::optional<std::int64_t> newest_t_ns;
};

class NewSources {
 public:
  explicit NewSources(Database& db) : db_(db), rows_(db) {}

  // Whether any row is of that file, by whatever cluster's name.
  absl::StatusOr<bool> IsKnown(std::string_view node, std::string_view file) {
    if (!known_) known_ = db_.Prepare("SELECT 1 FROM source WHERE node = ?1 AND file = ?2");
    known_->BindView(1, node).BindView(2, file);
    const bool known = known_->Step();
    if (!known_->status().ok()) return known_->status();
    known_->Reset();
    return known;
  }
  absl::StatusOr<std::int64_t> NextId() {
    if (!last_id_) {
      Statement last = db_.Prepare("SELECT coalesce(max(id), 0) FROM source");
      if (!last.Step()) return last.status();
      last_id_ = last.Int(0);
    }
    return ++*last_id_;
  }
  absl::Status Add(const NewSource& source) { return rows_.Add(source); }
  absl::Status Flush() { return rows_.Flush(); }

 private:
  Database& db_;
  ManyRows<NewSource> rows_;
  std::optional<Statement> known_;
  std::optional<std::int64_t> last_id_;
};

}  // namespace goodput
