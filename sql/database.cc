#include "sql/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "sql/schema.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Another writer holds the lock for at most one file's transaction; if it takes longer, it hangs.
constexpr int kBusyPauseMs = 20;
constexpr int kBusyTimeoutMs = 10'000;

absl::Status Error(sqlite3* db, std::string_view what, int code) {
  const std::string text = Cat(what, ": ", db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(text);
    default:
      return absl::InternalError(text);
  }
}

constexpr std::string_view kSpecifyAnother = "; specify another with --db FILE or in goodput.conf";

absl::Status CannotOpen(const std::string& path, sqlite3* db, int code) {
  const int error = db == nullptr ? 0 : sqlite3_system_errno(db);
  const std::string what = Cat("cannot open the database ", path);
  if ((code & 0xff) != SQLITE_CANTOPEN || error == 0) return Error(db, what, code);
  return absl::PermissionDeniedError(Cat(what, ": ", std::strerror(error), kSpecifyAnother));
}

// SQLite counts the memory that it has under a lock, which nobody asks for. Only before it is first used.
void CountNoMemory() {
  static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(once);
}

// Without this, the signal of a limit on the size of files (RLIMIT_FSIZE) would end the process.
void MakeSizeLimitAnError() {
  struct sigaction action {};
  if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

// Statements of one text that nobody uses.
class IdleStatements {
 public:
  IdleStatements() = default;
  IdleStatements(const IdleStatements&) = delete;
  IdleStatements& operator=(const IdleStatements&) = delete;
  ~IdleStatements() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  }
  sqlite3_stmt* Take() {
    if (statements_.empty()) return nullptr;
    sqlite3_stmt* statement = statements_.back();
    statements_.pop_back();
    return statement;
  }
  void Keep(sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    statements_.push_back(statement);
  }

 private:
  std::vector<sqlite3_stmt*> statements_;
};

class StatementCache {
 public:
  // Null: there are too many texts already.
  IdleStatements* Of(std::string_view sql) {
    Asked& asked = asked_[std::hash<const char*>()(sql.data()) / alignof(std::max_align_t) % kAsked];
    if (asked.text != nullptr && *asked.text == sql) return asked.idle;
    auto found = idle_.find(ToAbsl(sql));
    if (found == idle_.end() && idle_.size() < kMostTexts) found = idle_.try_emplace(ToAbsl(sql)).first;
    if (found == idle_.end()) return nullptr;
    asked = {&found->first, &found->second};
    return asked.idle;
  }

 private:
  static constexpr std::size_t kMostTexts = 64;
  absl::node_hash_map<std::string, IdleStatements> idle_;
  // The text that was asked for last from a place in memory: to compare takes less than to hash.
  struct Asked {
    const std::string* text = nullptr;
    IdleStatements* idle = nullptr;
  };
  static constexpr std::size_t kAsked = 64;
  std::array<Asked, kAsked> asked_;
};

void Statement::GiveBack() {
  if (statement_ != nullptr && idle_ != nullptr) {
    idle_->Keep(statement_);
  } else {
    sqlite3_finalize(statement_);
  }
  statement_ = nullptr;
}

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      idle_(other.idle_),
      statement_(std::exchange(other.statement_, nullptr)),
      status_(std::move(other.status_)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  GiveBack();
  db_ = other.db_;
  idle_ = other.idle_;
  statement_ = std::exchange(other.statement_, nullptr);
  status_ = std::move(other.status_);
  return *this;
}

Statement::~Statement() {
  GiveBack();
}

void Statement::Check(int code) {
  if (code == SQLITE_OK || !status_.ok()) return;
  status_ = Error(db_, "database", code);
}

Statement& Statement::Bind(int index, std::int64_t value) {
  if (statement_) Check(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Statement& Statement::Bind(int index, std::string_view text) {
  if (statement_) {
    Check(sqlite3_bind_text(statement_, index, text.data() == nullptr ? "" : text.data(),
                            static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  return *this;
}

Statement& Statement::BindView(int index, std::string_view text) {
  if (statement_) {
    Check(sqlite3_bind_text(statement_, index, text.data() == nullptr ? "" : text.data(),
                            static_cast<int>(text.size()), SQLITE_STATIC));
  }
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view bytes) {
  if (statement_) {
    Check(
        sqlite3_bind_blob(statement_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT));
  }
  return *this;
}

Statement& Statement::Bind(int index, const std::optional<std::int64_t>& value) {
  return value ? Bind(index, *value) : BindNull(index);
}

Statement& Statement::BindNull(int index) {
  if (statement_) Check(sqlite3_bind_null(statement_, index));
  return *this;
}

bool Statement::Step() {
  if (!status_.ok() || !statement_) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) Check(code);
  return false;
}

absl::Status Statement::Run() {
  while (Step()) {
  }
  absl::Status result = status_;
  Reset();
  return result;
}

void Statement::Reset() {
  if (statement_) sqlite3_reset(statement_);
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::int64_t> Statement::OptionalInt(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Int(column);
}

std::string Statement::Text(int column) const {
  return std::string(Bytes(column));
}

std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Statement::Type Statement::TypeOf(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Type::kInt;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}

double Statement::Real(int column) const {
  return sqlite3_column_double(statement_, column);
}

int Statement::columns() const {
  return sqlite3_column_count(statement_);
}

std::string Statement::Name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? "" : name;
}

void Database::Close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

absl::StatusOr<Database> Database::Open(const std::string& path, Mode mode) {
  struct stat file {};
  const bool exists = stat(path.c_str(), &file) == 0;
  if (mode == Mode::kReadOnly && !exists) {
    const std::string why = std::strerror(errno);
    return absl::NotFoundError(Cat("cannot read the database ", path, ": ", why, kSpecifyAnother));
  }
  // A link to a place where nothing is yet would let whoever made it choose where root makes a file.
  struct stat link {};
  if (!exists && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
    return absl::FailedPreconditionError(
        Cat("cannot open the database ", path,
            ": it is a symbolic link to a file that does not exist; remove it, or "
            "set `database` in goodput.conf to the file itself"));
  }
  if (mode == Mode::kReadWrite) MakeSizeLimitAnError();
  CountNoMemory();
  Database database;
  database.path_ = path;
  sqlite3* db = nullptr;
  // Files that SQLite creates next to the database get its mode.
  const mode_t before = umask(0027);
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  umask(before);
  database.db_.reset(db);
  if (stat(path.c_str(), &file) == 0) {
    database.device_ = file.st_dev;
    database.inode_ = file.st_ino;
  }
  if (code != SQLITE_OK) return CannotOpen(path, db, code);
  if (mode == Mode::kReadWrite && sqlite3_db_readonly(db, "main") == 1) {
    return absl::PermissionDeniedError(
        Cat("cannot write to the database ", path, ": it can only be read", kSpecifyAnother));
  }
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  sqlite3_extended_result_codes(db, 1);

  // Events of a job are spread over a large database; with SQLite's default of 2 MB, pages would be read
  // again and again. A small database uses no more than its size.
  if (absl::Status status = database.Execute("PRAGMA cache_size=-65536"); !status.ok()) {
    return Annotate(status, path);
  }
  Statement version = database.Prepare("PRAGMA user_version");
  const std::int64_t found = version.Step() ? version.Int(0) : -1;
  if (!version.status().ok()) {
    return Annotate(version.status(), path);
  }
  version.Reset();
  Statement application = database.Prepare("PRAGMA application_id");
  if (found > 0 && application.Step() && application.Int(0) != kApplicationId) {
    return absl::FailedPreconditionError(
        Cat("the database ", path,
            " was made by a development version of slurm-goodput; move it away: sgoodput ingest creates a "
            "new one from the spool, and sgoodput backfill adds what slurmdbd knows"));
  }
  application.Reset();
  if (found > kSchemaVersion) {
    return absl::FailedPreconditionError(Cat("the database ", path, " has schema ", found,
                                             ", newer than this program's ", kSchemaVersion,
                                             "; upgrade slurm-goodput"));
  }
  if (mode == Mode::kReadOnly) {
    if (found < kSchemaVersion) {
      return absl::FailedPreconditionError(Cat("the database ", path, " has schema ", found,
                                               ", this program needs ", kSchemaVersion,
                                               "; run `sgoodput ingest` as its owner to upgrade it"));
    }
    return database;
  }
  // WAL lets readers read while one writer writes; NORMAL cannot corrupt the database, and records lost in a
  // power cut are still in the spool and are ingested again, since offsets and rows go together. The log is
  // checkpointed every 32 MB instead of every 4: each checkpoint waits for the disk, and an ingest writes
  // that much in one transaction. auto_vacuum, which only applies to a new file, lets the file shrink when
  // old records are purged.
  for (const char* pragma :
       {"PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
        "PRAGMA foreign_keys=ON", "PRAGMA temp_store=MEMORY", "PRAGMA wal_autocheckpoint=8192"}) {
    absl::Status status = database.Execute(pragma);
    // A new database is switched to WAL under a lock for which SQLite does not wait: of several processes
    // that create it, all but one fail at once.
    for (int tries = 0; (sqlite3_errcode(db) & 0xff) == SQLITE_BUSY && tries < kBusyTimeoutMs / kBusyPauseMs;
         ++tries) {
      sqlite3_sleep(kBusyPauseMs);
      status = database.Execute(pragma);
    }
    if (!status.ok()) return Annotate(status, path);
  }
  if (found < kSchemaVersion) {
    if (absl::Status status = database.Migrate(); !status.ok()) return Annotate(status, path);
  }
  return database;
}

absl::Status Database::Migrate() {
  Transaction transaction(*this);
  if (!transaction.status().ok()) return transaction.status();
  Statement version = Prepare("PRAGMA user_version");
  const std::int64_t found = version.Step() ? version.Int(0) : 0;
  version.Reset();
  for (std::int64_t next = found + 1; next <= kSchemaVersion; ++next) {
    RETURN_IF_ERROR(Execute(Migration(static_cast<int>(next))));
    RETURN_IF_ERROR(Execute(Cat("PRAGMA user_version=", next)));
  }
  RETURN_IF_ERROR(Execute(Cat("PRAGMA application_id=", kApplicationId)));
  return transaction.Commit();
}

absl::Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return absl::OkStatus();
  return Error(db_.get(), "database", code);
}

void Database::ForgetPages() {
  sqlite3_db_release_memory(db_.get());
}

Statement Database::Prepare(std::string_view sql) {
  Statement statement;
  statement.db_ = db_.get();
  statement.idle_ = statements_->Of(sql);
  if (statement.idle_ != nullptr) statement.statement_ = statement.idle_->Take();
  if (statement.statement_ != nullptr) return statement;
  const char* rest = nullptr;
  statement.Check(
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &statement.statement_, &rest));
  if (!statement.status_.ok()) return statement;
  const std::string_view tail = sql.substr(static_cast<std::size_t>(rest - sql.data()));
  if (statement.statement_ == nullptr || tail.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    statement.status_ = absl::InvalidArgumentError("exactly one statement is expected");
  if (!statement.status_.ok()) statement.idle_ = nullptr;  // it is not for anybody else
  return statement;
}

Database::Database() : statements_(std::make_unique<StatementCache>()) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  statements_ = nullptr;
  db_ = std::move(other.db_);
  statements_ = std::move(other.statements_);
  path_ = std::move(other.path_);
  writer_ = std::move(other.writer_);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}
Database::~Database() = default;

bool Database::StillThere() const {
  struct stat file {};
  return stat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

bool Database::InTransaction() const {
  return sqlite3_get_autocommit(db_.get()) == 0;
}

std::int64_t Database::WritesOfOthers() {
  Statement version = Prepare("PRAGMA data_version");
  return version.Step() ? version.Int(0) : -1;
}

std::int64_t Database::LastInsertId() const {
  return sqlite3_last_insert_rowid(db_.get());
}

UncheckedReferences::UncheckedReferences(Database& db) : db_(db) {
  db_.Execute("PRAGMA foreign_keys=OFF").IgnoreError();
}

UncheckedReferences::~UncheckedReferences() {
  db_.Execute("PRAGMA foreign_keys=ON").IgnoreError();
}

namespace {

// Starts a kernel timer that kills this process; empty if none is available.
std::optional<timer_t> StartLimit() {
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer = nullptr;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return std::nullopt;
  struct itimerspec limit {};
  limit.it_value.tv_sec = kLongestTransactionS;
  timer_settime(timer, 0, &limit, nullptr);
  return timer;
}

}  // namespace

void Database::WriteAs(std::string writer) {
  writer_ = std::move(writer);
}

absl::Status Database::CheckWriter() {
  Statement writer = Prepare("SELECT name FROM writer");
  if (!writer.Step() || writer.Text(0) == writer_) return writer.status();
  return absl::AbortedError(
      Cat(writer.Text(0), " now writes to the database ", path_, "; nothing was written"));
}

Transaction::Transaction(Database& db) : db_(db), status_(db.Execute("BEGIN IMMEDIATE")) {
  open_ = status_.ok();
  if (!open_ || db.writer_.empty()) return;
  limit_ = StartLimit();
  status_ = db.CheckWriter();
  if (status_.ok()) return;
  db_.Execute("ROLLBACK").IgnoreError();
  End();
}

Transaction::~Transaction() {
  if (open_) db_.Execute("ROLLBACK").IgnoreError();
  End();
}

void Transaction::End() {
  open_ = false;
  if (limit_) timer_delete(*limit_);
  limit_.reset();
}

absl::Status Transaction::Commit() {
  if (!open_) return status_;
  status_ = db_.Execute("COMMIT");
  if (status_.ok()) End();
  return status_;
}

Snapshot::Snapshot(Database& db) : db_(db) {
  if (db.InTransaction()) return;
  status_ = db.Execute("BEGIN");
  open_ = status_.ok();
}

Snapshot::~Snapshot() {
  if (open_) db_.Execute("COMMIT").IgnoreError();
}

}  // namespace goodput
