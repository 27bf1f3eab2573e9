#include "sql/ingest_batch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "sql/record_blocks.h"
#include "sql/record_pack.h"
#include "sql/seen.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Bytes taken in one transaction: enough to be fast, few enough not to hold the lock for a second.
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kManyBytes = std::size_t{256} << 10U;

// A spool file is BOOT.HOUR.jsonl.
std::string_view BootOf(std::string_view file) {
  return file.substr(0, file.find('.'));
}

}  // namespace

absl::Status FileProblem(std::string_view what) {
  return absl::AbortedError(ToAbsl(what));
}

bool IsFileProblem(const absl::Status& status) {
  return absl::IsAborted(status);
}

// Of one job, and one cluster, as many at once are a row each; of more, those of slurmd's hooks are a block
// (record_blocks.h). Small jobs are easier to ask about, and large ones are what a database would be full of.
constexpr std::int64_t kManyRecords = 512;

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

// Records of slurmd's hooks until it is known how many of a job there are.
class HookRows {
 public:
  HookRows(Database& db, EventRows& events) : db_(db), events_(events) {}

  void Add(const FileIngest& file, const EventRows::Row& row, const KnownShapes& parser) {
    Job& job = JobOf(*row.job_id, file.cluster());
    ++job.records;
    job.first_t_ns = std::min(job.first_t_ns, row.t_ns);
    job.last_t_ns = std::max(job.last_t_ns, row.t_ns);
    waiting_.push_back({row, &file, parser.shape(), numbers_.size(), &job});
    numbers_.insert(numbers_.end(), parser.numbers(),
                    parser.numbers() + parser.shape()->text().names().size());
  }
  absl::Status Flush() {
    for (const Waiting& one : waiting_) {
      if (one.job->records >= kManyRecords && Pack(one)) continue;
      if (absl::Status status = events_.Add(one.row); !status.ok()) return status;
    }
    for (auto& [key, job] : jobs_) {
      if (job.packer.records() == 0) continue;
      absl::Status status =
          StoreRecordBlock(db_, {0, key.first, std::string(key.second), job.packer.records(), job.first_t_ns,
                                 job.last_t_ns, std::nullopt, job.packer.Finish()});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  struct Job {
    std::int64_t records = 0;
    std::int64_t first_t_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_t_ns = std::numeric_limits<std::int64_t>::min();
    RecordPacker packer;
    std::vector<std::size_t> shapes;  // the packer's, by KnownShapes' number, and one more
  };
  struct Waiting {
    EventRows::Row row;
    const FileIngest* file;
    const KnownShapes::Shape* shape;
    std::size_t numbers;  // in numbers_
    Job* job;
  };
  using Key = std::pair<std::int64_t, std::string_view>;  // job, cluster
  static constexpr std::size_t kRow = ~std::size_t{0};    // one of the shape became a row

  Job& JobOf(std::int64_t job_id, std::string_view cluster) {
    if (last_ == nullptr || last_key_ != Key(job_id, cluster)) {
      last_key_ = {job_id, cluster};
      last_ = &jobs_[last_key_];
    }
    return *last_;
  }
  // False: it is to be a row, as the first is in which a job tells of itself: the view job_option and whoever
  // asks whose the job is find it.
  bool Pack(const Waiting& one) {
    Job& job = *one.job;
    if (job.shapes.size() <= one.shape->number()) job.shapes.resize(one.shape->number() + 1);
    std::size_t& shape = job.shapes[one.shape->number()];
    if (shape == 0 && one.shape->begins_work()) {
      shape = kRow;
      return false;
    }
    if (shape == 0 || shape == kRow) shape = job.packer.AddShape(one.shape->text()) + 1;
    job.packer.SetFile(one.row.source_id, one.file->node(), BootOf(one.file->file()));
    job.packer.Add(shape - 1, one.row.offset, numbers_.data() + one.numbers);
    return true;
  }

  Database& db_;
  EventRows& events_;
  std::map<Key, Job> jobs_;
  Key last_key_;
  Job* last_ = nullptr;
  std::vector<Waiting> waiting_;
  std::vector<std::int64_t> numbers_;
};

// Files of which nothing is in the database yet, each of which becomes a row once it is known how far it was
// taken.
class NewSources {
 public:
  explicit NewSources(Database& db) : db_(db) {}

  struct Row {
    Source source;
    const FileIngest* file;
    std::int64_t end;
    std::int64_t records;
    std::int64_t bad;
    std::optional<std::int64_t> last_t_ns;
  };
  // Whether any row is of that file, by whatever cluster's name.
  absl::StatusOr<bool> IsKnown(const FileIngest& file) {
    if (!known_) known_ = db_.Prepare("SELECT 1 FROM source WHERE node = ?1 AND file = ?2");
    known_->BindView(1, file.node()).BindView(2, file.file());
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
  absl::Status Add(const Row& row) {
    waiting_.push_back(row);
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
  static std::string Sql(std::size_t rows) {
    std::string sql =
        "INSERT OR FAIL INTO source (id, cluster, node, file, offset, records, bad, newest_t_ns) VALUES ";
    for (std::size_t row = 0; row < rows; ++row) sql += row == 0 ? "(?,?,?,?,?,?,?,?)" : ",(?,?,?,?,?,?,?,?)";
    return sql;
  }
  absl::Status Insert(Statement& statement) {
    int at = 0;
    for (const Row& row : waiting_) {
      statement.Bind(at + 1, row.source.id).BindView(at + 2, row.source.cluster);
      statement.BindView(at + 3, row.file->node()).BindView(at + 4, row.file->file()).Bind(at + 5, row.end);
      statement.Bind(at + 6, row.records).Bind(at + 7, row.bad).Bind(at + 8, row.last_t_ns);
      at += 8;
    }
    absl::Status status = statement.Run();
    waiting_.clear();
    return status;
  }

  Database& db_;
  std::optional<Statement> known_;
  std::optional<Statement> many_;
  std::optional<std::int64_t> last_id_;
  std::vector<Row> waiting_;
};

// What lines become, of whatever files.
struct FileIngest::Rows {
  // `checked`: the database refuses rows of a source that is not there yet.
  Rows(Database& db, bool checked_) : events(db), hooks(db, events), sources(db), checked(checked_) {}
  EventRows events;
  HookRows hooks;
  NewSources sources;
  const bool checked;
  SeenJobs seen;
  IngestReport report;
  std::optional<std::int64_t> last_t_ns;  // of the file at hand
};

FileIngest::FileIngest(Database& db, const IngestOptions& options, std::string cluster, std::string node,
                       std::string file)
    : db_(&db),
      options_(&options),
      cluster_(std::move(cluster)),
      node_(std::move(node)),
      file_(std::move(file)) {}

// The file's row; one from before its cluster was named is given it. One that is not there yet will be.
absl::StatusOr<Source> FileIngest::FindOrMakeSource(Rows& rows) const {
  const absl::StatusOr<bool> is_known = rows.sources.IsKnown(*this);
  if (!is_known.ok()) return is_known.status();
  absl::StatusOr<std::optional<Source>> known = std::optional<Source>();
  if (*is_known) known = FindSource(*db_, cluster_, options_->cluster, node_, file_);
  if (!known.ok()) return known.status();
  if (!*known) {
    const absl::StatusOr<std::int64_t> id = rows.sources.NextId();
    if (!id.ok()) return id.status();
    Source made{*id, 0, cluster_.empty() ? options_->cluster : cluster_};
    made.is_new = !rows.checked;
    if (made.is_new) return made;
    Statement insert = db_->Prepare("INSERT INTO source (id, cluster, node, file) VALUES (?1, ?2, ?3, ?4)");
    insert.Bind(1, made.id).Bind(2, made.cluster).Bind(3, node_).Bind(4, file_);
    if (absl::Status status = insert.Run(); !status.ok()) return status;
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
                                  KnownShapes& parser, StepStore& steps, Rows& rows) const {
  absl::StatusOr<SpoolLine> record = parser.Parse(line, node_);
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
  rows.last_t_ns = std::max(rows.last_t_ns.value_or(record->t_ns), record->t_ns);
  if (record->job) rows.seen.Add(*record->job, source.cluster, record->run, record->t_ns);
  if (record->is_step_mark) {
    return steps.Append(*record->job, record->slurm_step,
                        {record->t_ns, record->train_step, record->task.value_or(0), offset},
                        record->t_ns - record->m_ns);
  }
  const EventRows::Row row{source.id, offset, record->t_ns, record->kind, record->job, line};
  const KnownShapes::Shape* shape = parser.shape();
  // The name of a cluster that no record gave may change, and with it whose its records are.
  if (shape != nullptr && shape->of_slurmd() && record->job && !cluster_.empty() &&
      record->cluster == cluster_ && !BootOf(file_).empty()) {
    rows.hooks.Add(*this, row, parser);
    return absl::OkStatus();
  }
  return rows.events.Add(row);
}

absl::StatusOr<std::int64_t> FileIngest::Offset() const {
  const absl::StatusOr<std::optional<Source>> known =
      FindSource(*db_, cluster_, options_->cluster, node_, file_);
  if (!known.ok()) return known.status();
  return *known ? (*known)->offset : 0;
}

absl::Status FileIngest::Take(std::string_view bytes, std::int64_t begin, KnownShapes& parser,
                              Rows& rows) const {
  const absl::StatusOr<Source> source = FindOrMakeSource(rows);
  if (!source.ok()) return source.status();
  const std::int64_t end = begin + static_cast<std::int64_t>(bytes.size());
  if (source->offset < begin || source->offset >= end) return absl::OkStatus();
  // Where another stopped is the end of a line, too.
  bytes.remove_prefix(static_cast<std::size_t>(source->offset - begin));
  StepStore steps(*db_, source->id);
  const std::int64_t records = rows.report.records;
  const std::int64_t bad = rows.report.bad;
  rows.last_t_ns.reset();
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
  rows.report.bytes += static_cast<std::int64_t>(bytes.size());
  if (source->is_new) {
    return rows.sources.Add(
        {*source, this, end, rows.report.records - records, rows.report.bad - bad, rows.last_t_ns});
  }
  Statement advance = db_->Prepare(
      "UPDATE source SET offset = ?2, records = records + ?3, bad = bad + ?4,"
      " newest_t_ns = CASE WHEN ?5 IS NULL THEN newest_t_ns ELSE max(coalesce(newest_t_ns, ?5), ?5) END"
      " WHERE id = ?1");
  advance.Bind(1, source->id).Bind(2, end);
  advance.Bind(3, rows.report.records - records).Bind(4, rows.report.bad - bad).Bind(5, rows.last_t_ns);
  return advance.Run();
}

// As it comes: to clear it would cost more than to take in a few records.
void IngestBatch::Batch::MakeRoom() {
  buffer = std::unique_ptr<char[]>(new char[kBatchBytes + SpoolLineParser::kPadding]);
}

IngestBatch::IngestBatch(Database& db, const IngestOptions& options, IngestReport& report)
    : db_(db), options_(options), report_(report) {
  read_.MakeRoom();
}

bool IngestBatch::HolesAreSettled(int fd) const {
  struct stat info {};
  return options_.files->FStat(fd, &info) == 0 &&
         options_.clock.real_ns() / 1'000'000'000 - info.st_mtime > kHoleSettlesS;
}

// As much as there is room for; ends before a hole that may still be filled.
absl::StatusOr<std::string_view> IngestBatch::ReadPiece(int fd, std::int64_t begin, std::int64_t file_size) {
  char* const room = read_.buffer.get() + read_.used;
  const std::size_t most = kBatchBytes - read_.used;
  std::size_t size = 0;
  while (size < most) {
    const ssize_t got = Uninterrupted([&] {
      return options_.files->PRead(fd, room + size, most - size, begin + static_cast<off_t>(size));
    });
    // What was read before a bad place is as good as ever; the next piece begins at it and says what it is.
    if (got < 0 && size == 0) return FileProblem(std::strerror(errno));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    // What it gained meanwhile is there the next time.
    if (begin + static_cast<std::int64_t>(size) >= file_size) break;
  }
  const std::string_view piece(room, size);
  const std::size_t hole = piece.find('\0');
  return piece.substr(0, hole != std::string_view::npos && !HolesAreSettled(fd) ? hole : size);
}

absl::StatusOr<std::string_view> IngestBatch::Begin(int fd, std::int64_t file_size) {
  if (read_.used > 0 && file_size > static_cast<std::int64_t>(kBatchBytes - read_.used)) {
    if (absl::Status status = StoreBeside(); !status.ok()) return status;
  }
  return ReadPiece(fd, 0, file_size);
}

std::optional<std::string> IngestBatch::ClusterOf(std::string_view begun, const std::string& node,
                                                  std::int64_t file_size) {
  if (static_cast<std::int64_t>(begun.size()) <
      std::min(file_size, static_cast<std::int64_t>(kClusterNamedWithin))) {
    return std::nullopt;
  }
  return ClusterNamedIn(begun.substr(0, kClusterNamedWithin), [&](std::string_view line) {
    const absl::StatusOr<SpoolLine> record = beginnings_.Parse(line, node);
    return record.ok() ? std::string(record->cluster) : std::string();
  });
}

absl::Status IngestBatch::Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size,
                               SpoolMemory::File& memory, std::optional<std::string_view> begun) {
  while (true) {
    const auto fits = static_cast<std::int64_t>(kBatchBytes - read_.used);
    if (read_.used > 0 && file_size - offset > fits) {
      if (absl::Status status = StoreBeside(); !status.ok()) return status;
    }
    const std::size_t most = kBatchBytes - read_.used;
    const absl::StatusOr<std::string_view> piece = begun ? *begun : ReadPiece(fd, offset, file_size);
    begun.reset();
    if (!piece.ok()) return piece.status();
    const std::string_view lines = piece->substr(0, piece->rfind('\n') + 1);
    const bool full = piece->size() == most;
    // No newline in a whole batch: whatever this is, it is no spool.
    if (lines.empty() && full && read_.used == 0) return FileProblem("no newline for 4 MiB");
    if (!lines.empty())
      read_.pieces.push_back({file, offset, lines, options_.memory != nullptr ? &memory : nullptr});
    read_.used += lines.size();
    offset += static_cast<std::int64_t>(lines.size());
    if (!full) return absl::OkStatus();
    if (absl::Status status = StoreBeside(); !status.ok()) return status;
    if (options_.at) options_.at(file.node());
  }
}

// Everything was read before: a disk that hangs must not keep others from the database.
absl::StatusOr<IngestReport> IngestBatch::StoreNow(const Batch& batch) {
  // Each event's source is found or made with it. To say so compiles every statement anew.
  std::optional<UncheckedReferences> unchecked;
  if (batch.used > kManyBytes) unchecked.emplace(db_);
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  IngestReport taken;
  {
    FileIngest::Rows rows(db_, !unchecked);
    for (const Piece& piece : batch.pieces) {
      absl::Status status = piece.file.Take(piece.bytes, piece.begin, parser_, rows);
      if (!status.ok()) return status;
    }
    if (absl::Status status = rows.sources.Flush(); !status.ok()) return status;
    if (absl::Status status = rows.hooks.Flush(); !status.ok()) return status;
    if (absl::Status status = rows.events.Flush(); !status.ok()) return status;
    if (absl::Status status = rows.seen.Flush(db_); !status.ok()) return status;
    taken = rows.report;
  }
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  return taken;
}

absl::Status IngestBatch::Taken(const absl::StatusOr<IngestReport>& taken) {
  if (!taken.ok()) return taken.status();
  report_.records += taken->records;
  report_.bad += taken->bad;
  report_.bytes += taken->bytes;
  for (const Piece& piece : stored_.pieces) {
    if (piece.memory == nullptr) continue;
    piece.memory->taken = piece.begin + static_cast<std::int64_t>(piece.bytes.size());
  }
  stored_.pieces.clear();
  stored_.used = 0;
  return absl::OkStatus();
}

absl::Status IngestBatch::Settle() {
  if (!storing_.valid()) return absl::OkStatus();
  return Taken(storing_.get());
}

absl::Status IngestBatch::StoreBeside() {
  if (absl::Status status = Settle(); !status.ok()) return status;
  if (stored_.buffer == nullptr) stored_.MakeRoom();
  std::swap(read_, stored_);
  try {
    storing_ = std::async(std::launch::async, [this] { return StoreNow(stored_); });
  } catch (const std::system_error&) {  // there may be no more threads
    return Taken(StoreNow(stored_));
  }
  return absl::OkStatus();
}

absl::Status IngestBatch::Store() {
  if (absl::Status status = Settle(); !status.ok()) return status;
  if (read_.pieces.empty()) return absl::OkStatus();
  std::swap(read_, stored_);
  absl::Status status = Taken(StoreNow(stored_));
  // What is read after this needs room again.
  if (read_.buffer == nullptr) std::swap(read_.buffer, stored_.buffer);
  return status;
}

}  // namespace goodput
