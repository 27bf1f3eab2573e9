// SQLite behind small RAII types. Only database.cc and tables/virtual_tables.cc include sqlite3.h.
#pragma once

#include <cstdint>
#include <ctime>
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

// Compiled statements nobody uses at the moment, by their SQL: a listing asks the same of each of a million
// jobs.
class StatementCache;

// A prepared statement. Bind by position (from 1), step, read columns (from 0). An error is remembered and
// returned by Step, Run or status(), so that binds need no check of their own. The database must outlive it.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::string_view text);
  // Not copied: the text must stay as it is until the statement has run.
  Statement& BindView(int index, std::string_view text);
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
  enum class Type { kNull, kInt, kReal, kText, kBlob };
  Type TypeOf(int column) const;
  double Real(int column) const;
  // Of the result, known before the first Step.
  int columns() const;
  std::string Name(int column) const;

 private:
  friend class Database;
  void Check(int code);
  void GiveBack();
  sqlite3* db_ = nullptr;
  StatementCache* cache_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  absl::Status status_;
};

inline constexpr std::int64_t kLongestTransactionS = 300;

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // kReadWrite creates a missing file (0640) and brings an older schema up to date; kReadOnly refuses a
  // missing file and one whose schema is not this program's.
  static absl::StatusOr<Database> Open(const std::string& path, Mode mode);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  absl::Status Execute(const std::string& sql);
  // A statement that does not compile reports it when first used. The same SQL is compiled once.
  Statement Prepare(std::string_view sql);
  std::int64_t LastInsertId() const;
  bool InTransaction() const;
  // Some number, which is another as soon as anybody else has written to the database; negative: not known.
  std::int64_t WritesOfOthers();
  const std::string& path() const { return path_; }
  // From now on transactions are for `writer` (writer.h): refused with Aborted where the database says that
  // another writes, and limited to kLongestTransactionS, after which the kernel kills this process, even when
  // it is stopped, lest others wait for it for ever. Empty: for nobody, as at first.
  void WriteAs(std::string writer);
  // False: the file was moved away or replaced since it was opened, and whoever comes now finds another.
  bool StillThere() const;
  // For sql/tables/virtual_tables.cc, which adds to what SQLite can do.
  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  friend class Transaction;
  Database();
  absl::Status Migrate();
  // In a transaction: whether it may go on.
  absl::Status CheckWriter();
  std::unique_ptr<sqlite3, Close> db_;
  std::unique_ptr<StatementCache> statements_;  // gone before db_ is
  std::string path_;
  std::string writer_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// While it lives, rows may name others that are not there: for one who makes those himself, and does not want
// them looked up again for each of a million rows. Begins and ends outside of transactions.
class UncheckedReferences {
 public:
  explicit UncheckedReferences(Database& db);
  ~UncheckedReferences();
  UncheckedReferences(const UncheckedReferences&) = delete;
  UncheckedReferences& operator=(const UncheckedReferences&) = delete;

 private:
  Database& db_;
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
  void End();
  Database& db_;
  absl::Status status_;
  bool open_ = false;
  std::optional<timer_t> limit_;
};

// While it lives, everything is read as it was at its begin, and reading needs no lock of its own each time.
// Nothing may be written meanwhile. One within another is part of it.
class Snapshot {
 public:
  explicit Snapshot(Database& db);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  const absl::Status& status() const { return status_; }

 private:
  Database& db_;
  absl::Status status_;
  bool open_ = false;
};

}  // namespace goodput
