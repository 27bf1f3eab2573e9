#include "sql/ingest_batch.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sql/seen.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Bytes taken in one transaction: enough to be fast, few enough not to hold the lock for a second.
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kManyBytes = std::size_t{256} << 10U;
constexpr std::size_t kExcerptBytes = 200;

}  // namespace

absl::Status FileProblem(std::string_view what) {
  return absl::AbortedError(ToAbsl(what));
}

bool IsFileProblem(const absl::Status& status) {
  return absl::IsAborted(status);
}

// Rows that wait to be inserted together: to start a statement, with all its indexes, costs as much as a row.
// Records stay where they are until then; a kind, which its parser forgets, is kept here.
class EventRows {
 public:
  explicit EventRows(Database& db) : db_(db) { waiting_.reserve(kMany); }

  struct Row {
    std::int64_t source_id;
    std::int64_t offset;
    std::int64_t t_ns;
    std::string_view kind;
    std::optional<std::int64_t> job_id;
    std::string_view record;
  };
  absl::Status Add(const Row& row) {
    waiting_.push_back(row);
    auto kind = kinds_.find(row.kind);
    if (kind == kinds_.end()) kind = kinds_.emplace(row.kind).first;
    waiting_.back().kind = *kind;
    if (waiting_.size() < kMany) return absl::OkStatus();
    if (!many_) many_ = db_.Prepare(Sql(kMany));
    return Insert(*many_);
  }
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
    std::string sql = "INSERT OR FAIL INTO event (source_id, offset, t_ns, kind, job_id, record) VALUES ";
    for (std::size_t row = 0; row < rows; ++row) sql += row == 0 ? "(?,?,?,?,?,?)" : ",(?,?,?,?,?,?)";
    return sql;
  }
  absl::Status Insert(Statement& statement) {
    int at = 0;
    for (const Row& row : waiting_) {
      statement.Bind(at + 1, row.source_id).Bind(at + 2, row.offset).Bind(at + 3, row.t_ns);
      statement.BindView(at + 4, row.kind).Bind(at + 5, row.job_id).BindView(at + 6, row.record);
      at += 6;
    }
    waiting_.clear();
    return statement.Run();
  }

  Database& db_;
  std::optional<Statement> many_;
  std::vector<Row> waiting_;
  std::set<std::string, std::less<>> kinds_;
};

// What lines become, of whatever files.
struct FileIngest::Rows {
  explicit Rows(Database& db) : events(db) {}
  EventRows events;
  SeenJobs seen;
  IngestReport report;
};

FileIngest::FileIngest(Database& db, const IngestOptions& options, std::string cluster, std::string node,
                       std::string file)
    : db_(&db),
      options_(&options),
      cluster_(std::move(cluster)),
      node_(std::move(node)),
      file_(std::move(file)) {}

// The file's row; one from before its cluster was named is given it.
absl::StatusOr<Source> FileIngest::FindOrMakeSource() const {
  absl::StatusOr<std::optional<Source>> known = FindSource(*db_, cluster_, options_->cluster, node_, file_);
  if (!known.ok()) return known.status();
  if (!*known) {
    Source made{0, 0, cluster_.empty() ? options_->cluster : cluster_};
    Statement insert = db_->Prepare("INSERT INTO source (cluster, node, file) VALUES (?1, ?2, ?3)");
    insert.Bind(1, made.cluster).Bind(2, node_).Bind(3, file_);
    if (absl::Status status = insert.Run(); !status.ok()) return status;
    made.id = db_->LastInsertId();
    return made;
  }
  if (cluster_.empty() || (*known)->cluster == cluster_) return **std::move(known);
  if (absl::Status status = MoveSeenJobs(*db_, (*known)->id, (*known)->cluster, cluster_); !status.ok())
    return status;
  (*known)->cluster = cluster_;
  Statement update = db_->Prepare("UPDATE source SET cluster = ?2 WHERE id = ?1");
  update.Bind(1, (*known)->id).Bind(2, cluster_);
  if (absl::Status status = update.Run(); !status.ok()) return status;
  return **std::move(known);
}

absl::Status FileIngest::TakeLine(std::string_view line, const Source& source, std::int64_t offset,
                                  SpoolLineParser& parser, StepStore& steps, Rows& rows) const {
  absl::StatusOr<SpoolLine> record = parser.Parse(line);
  if (!record.ok() && line.find('\0') != std::string_view::npos) {
    record = absl::InvalidArgumentError("a hole in the file");
  }
  if (record.ok() && record->node != node_) {
    record = absl::InvalidArgumentError(Cat("`node` is not the folder's ", node_));
  }
  if (!record.ok()) {
    ++rows.report.bad;
    Statement set_aside = db_->Prepare(
        "INSERT OR IGNORE INTO quarantine (source_id, offset, reason, excerpt) VALUES (?1, ?2, ?3, ?4)");
    set_aside.Bind(1, source.id).Bind(2, offset).Bind(3, Message(record.status()));
    set_aside.Bind(4, line.substr(0, kExcerptBytes));
    return set_aside.Run();
  }
  ++rows.report.records;
  if (record->job) rows.seen.Add(*record->job, source.cluster, record->run, record->t_ns);
  if (record->is_step_mark) {
    return steps.Append(*record->job, record->slurm_step,
                        {record->t_ns, record->train_step, record->task.value_or(0), offset},
                        record->t_ns - record->m_ns);
  }
  return rows.events.Add({source.id, offset, record->t_ns, record->kind, record->job, line});
}

absl::StatusOr<std::int64_t> FileIngest::Offset() const {
  const absl::StatusOr<std::optional<Source>> known =
      FindSource(*db_, cluster_, options_->cluster, node_, file_);
  if (!known.ok()) return known.status();
  return *known ? (*known)->offset : 0;
}

absl::Status FileIngest::Take(std::string_view bytes, std::int64_t begin, SpoolLineParser& parser,
                              Rows& rows) const {
  const absl::StatusOr<Source> source = FindOrMakeSource();
  if (!source.ok()) return source.status();
  const std::int64_t end = begin + static_cast<std::int64_t>(bytes.size());
  if (source->offset < begin || source->offset >= end) return absl::OkStatus();
  // Where another stopped is the end of a line, too.
  bytes.remove_prefix(static_cast<std::size_t>(source->offset - begin));
  StepStore steps(*db_, source->id);
  const IngestReport before = rows.report;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t newline = bytes.find('\n', at);
    if (newline > at) {
      absl::Status status = TakeLine(bytes.substr(at, newline - at), *source,
                                     source->offset + static_cast<std::int64_t>(at), parser, steps, rows);
      if (!status.ok()) return status;
    }
    at = newline + 1;
  }
  if (absl::Status status = steps.Flush(); !status.ok()) return status;
  Statement advance =
      db_->Prepare("UPDATE source SET offset = ?2, records = records + ?3, bad = bad + ?4 WHERE id = ?1");
  advance.Bind(1, source->id).Bind(2, end);
  advance.Bind(3, rows.report.records - before.records).Bind(4, rows.report.bad - before.bad);
  rows.report.bytes += static_cast<std::int64_t>(bytes.size());
  return advance.Run();
}

IngestBatch::IngestBatch(Database& db, const IngestOptions& options, IngestReport& report)
    : db_(db), options_(options), report_(report), buffer_(kBatchBytes + SpoolLineParser::kPadding, '\0') {}

bool IngestBatch::HolesAreSettled(int fd) const {
  struct stat info {};
  return options_.files->FStat(fd, &info) == 0 &&
         options_.clock.real_ns() / 1'000'000'000 - info.st_mtime > kHoleSettlesS;
}

// As much as there is room for; ends before a hole that may still be filled.
absl::StatusOr<std::string_view> IngestBatch::ReadPiece(int fd, std::int64_t begin) {
  char* const room = buffer_.data() + used_;
  const std::size_t most = kBatchBytes - used_;
  std::size_t size = 0;
  while (size < most) {
    const ssize_t got = Uninterrupted([&] {
      return options_.files->PRead(fd, room + size, most - size, begin + static_cast<off_t>(size));
    });
    // What was read before a bad place is as good as ever; the next piece begins at it and says what it is.
    if (got < 0 && size == 0) return FileProblem(std::strerror(errno));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  const std::string_view piece(room, size);
  const std::size_t hole = piece.find('\0');
  return piece.substr(0, hole != std::string_view::npos && !HolesAreSettled(fd) ? hole : size);
}

absl::Status IngestBatch::Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size,
                               SpoolMemory::File& memory) {
  while (true) {
    const auto fits = static_cast<std::int64_t>(kBatchBytes - used_);
    if (used_ > 0 && file_size - offset > fits) {
      if (absl::Status status = Store(); !status.ok()) return status;
    }
    const std::size_t most = kBatchBytes - used_;
    const absl::StatusOr<std::string_view> piece = ReadPiece(fd, offset);
    if (!piece.ok()) return piece.status();
    const std::string_view lines = piece->substr(0, piece->rfind('\n') + 1);
    const bool full = piece->size() == most;
    // No newline in a whole batch: whatever this is, it is no spool.
    if (lines.empty() && full && used_ == 0) return FileProblem("no newline for 4 MiB");
    if (!lines.empty())
      pieces_.push_back({file, offset, lines, options_.memory != nullptr ? &memory : nullptr});
    used_ += lines.size();
    offset += static_cast<std::int64_t>(lines.size());
    if (!full) return absl::OkStatus();
    if (absl::Status status = Store(); !status.ok()) return status;
    if (options_.at) options_.at(file.node());
  }
}

// Everything was read before: a disk that hangs must not keep others from the database.
absl::Status IngestBatch::Store() {
  if (pieces_.empty()) {
    used_ = 0;
    return absl::OkStatus();
  }
  // Each event's source is found or made just before it. To say so compiles every statement anew.
  std::optional<UncheckedReferences> unchecked;
  if (used_ > kManyBytes) unchecked.emplace(db_);
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  IngestReport taken;
  {
    FileIngest::Rows rows(db_);
    for (const Piece& piece : pieces_) {
      absl::Status status = piece.file.Take(piece.bytes, piece.begin, parser_, rows);
      if (!status.ok()) return status;
    }
    if (absl::Status status = rows.events.Flush(); !status.ok()) return status;
    if (absl::Status status = rows.seen.Flush(db_); !status.ok()) return status;
    taken = rows.report;
  }
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  report_.records += taken.records;
  report_.bad += taken.bad;
  report_.bytes += taken.bytes;
  for (const Piece& piece : pieces_) {
    if (piece.memory == nullptr) continue;
    piece.memory->taken = piece.begin + static_cast<std::int64_t>(piece.bytes.size());
  }
  pieces_.clear();
  used_ = 0;
  return absl::OkStatus();
}

}  // namespace goodput
