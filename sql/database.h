// SQLite behind small RAII types. The one place that includes sqlite3.h is database.cc.
#ifndef GOODPUT_SQL_DATABASE_H_
#define GOODPUT_SQL_DATABASE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace goodput {

class Database;

// A prepared statement. Bind by position (from 1), step, read columns (from 0). An error is remembered and
// returned by Step, Run or status(), so that binds need no check of their own.
class Statement {
 public:
  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& Bind(int index, const std::optional<std::int64_t>& value);
  Statement& BindNull(int index);

  // True: a row is there. False: done, or failed (then status() says so).
  bool Step();
  // Runs a statement that returns no rows, and makes it ready to be bound again.
  absl::Status Run();
  void Reset();
  const absl::Status& status() const { return status_; }

  std::int64_t Int(int column) const;
  std::optional<std::int64_t> OptionalInt(int column) const;
  std::string Text(int column) const;
  // Valid until the next Step or Reset.
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void Check(int code);
  sqlite3* db_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  absl::Status status_;
};

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // kReadWrite creates a missing file (0640) and brings an older schema up to date; kReadOnly refuses a
  // missing file and one whose schema is not this program's.
  static absl::StatusOr<Database> Open(const std::string& path, Mode mode);

  absl::Status Execute(const std::string& sql);
  // A statement that does not compile reports it when first used.
  Statement Prepare(std::string_view sql);
  std::int64_t LastInsertId() const;
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Database() = default;
  absl::Status Migrate();
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
};

// Takes the write lock at once (waiting up to the busy timeout) and rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& db);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  const absl::Status& status() const { return status_; }
  absl::Status Commit();

 private:
  Database& db_;
  absl::Status status_;
  bool open_ = false;
};

}  // namespace goodput

#endif  // GOODPUT_SQL_DATABASE_H_
