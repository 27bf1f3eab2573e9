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

// Compiled statements that are not in use, by their SQL: a listing repeats the same queries for each of a
// million jobs.
class IdleStatements;
class StatementCache;

// A prepared statement. Bind by position (from 1), step, read columns (from 0). Errors are kept and returned
// by Step, Run or status(), so bind calls need no check. The database must outlive it.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::string_view text);
  // Does not copy: the text must remain unchanged until the statement has run.
  Statement& BindView(int index, std::string_view text);
  Statement& BindBlob(int index, std::string_view bytes);
  Statement& Bind(int index, const std::optional<std::int64_t>& value);
  Statement& BindNull(int index);

  // True: there is a row. False: done, or failed (see status()).
  bool Step();
  // Runs a statement that returns no rows, and resets it for new values.
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
  // Columns of the result; known before the first Step.
  int columns() const;
  std::string Name(int column) const;

 private:
  friend class Database;
  void Check(int code);
  void GiveBack();
  sqlite3* db_ = nullptr;
  IdleStatements* idle_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  absl::Status status_;
};

inline constexpr std::int64_t kLongestTransactionS = 300;

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // kReadWrite creates a missing file (0640) and upgrades an older schema; kReadOnly refuses a missing file
  // and one with another schema than this program's.
  static absl::StatusOr<Database> Open(const std::string& path, Mode mode);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  absl::Status Execute(const std::string& sql);
  // A statement that does not compile reports its error when first used. Compiled statements are reused for
  // the same SQL.
  Statement Prepare(std::string_view sql);
  // Frees the memory of pages that nobody reads at the moment; they are read again when they are needed.
  void ForgetPages();
  std::int64_t LastInsertId() const;
  bool InTransaction() const;
  // A number that changes whenever another connection has written to the database; negative: unknown.
  std::int64_t WritesOfOthers();
  const std::string& path() const { return path_; }
  // From now on, transactions belong to `writer` (writer.h): they are refused with Aborted if the database
  // names another writer, and limited to kLongestTransactionS. After that the kernel kills this process, even
  // a stopped one, so that others do not wait forever. Empty: no writer, the default.
  void WriteAs(std::string writer);
  // False if the file was moved away or replaced since it was opened, so that a new connection would open
  // another file.
  bool StillThere() const;
  // For sql/tables/virtual_tables.cc, which registers modules with SQLite.
  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  friend class Transaction;
  Database();
  absl::Status Migrate();
  // Within a transaction: whether this writer may continue.
  absl::Status CheckWriter();
  std::unique_ptr<sqlite3, Close> db_;
  std::unique_ptr<StatementCache> statements_;  // destroyed before db_
  std::string path_;
  std::string writer_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

// While it lives, foreign keys are not checked: for a caller who creates the referenced rows itself and
// writes very many rows. Must begin and end outside of transactions.
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

// While it lives, all reads see the database as of its begin and need no lock of their own. Nothing may be
// written meanwhile. Nested snapshots are part of the outer one.
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
