// Rows of one table that wait to be inserted together: to start a statement, with all its indexes, costs as
// much as a row.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/text.h"

namespace goodput {

// A Row says kInto, "table (column, ...)", and kColumns, how many those are; Bind(statement, first) binds
// them from that position on. What a row is a view of must stay until it is inserted.
template <typename Row>
class ManyRows {
 public:
  explicit ManyRows(Database& db) : db_(db) { waiting_.reserve(kMany); }

  absl::Status Add(Row row) {
    waiting_.push_back(std::move(row));
    if (waiting_.size() < kMany) return absl::OkStatus();
    if (!many_) many_ = db_.Prepare(Sql(kMany));
    return Insert(*many_);
  }
  // Inserts those that still wait.
  absl::Status Flush() {
    if (waiting_.empty()) return absl::OkStatus();
    Statement statement = db_.Prepare(Sql(waiting_.size()));
    return Insert(statement);
  }

 private:
  static constexpr std::size_t kMany = 16;

  // FAIL, for the whole transaction is undone anyway: to undo one statement SQLite would copy every page
  // first.
  static std::string Sql(std::size_t rows) {
    std::string row = "(?";
    for (int column = 1; column < Row::kColumns; ++column) row += ",?";
    row += ')';
    std::string sql = Cat("INSERT OR FAIL INTO ", Row::kInto, " VALUES ", row);
    for (; rows > 1; --rows) sql += "," + row;
    return sql;
  }
  absl::Status Insert(Statement& statement) {
    int first = 1;
    for (const Row& row : waiting_) {
      row.Bind(statement, first);
      first += Row::kColumns;
    }
    absl::Status status = statement.Run();
    waiting_.clear();
    return status;
  }

  Database& db_;
  std::optional<Statement> many_;
  std::vector<Row> waiting_;
};

}  // namespace goodput
