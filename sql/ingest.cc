#include "sql/ingest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "spank/event.h"
#include "sql/seen.h"
#include "sql/source.h"
#include "sql/spool_line.h"
#include "sql/step_store.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Bytes taken in one transaction: enough to be fast, few enough not to hold the lock for a second.
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kExcerptBytes = 200;

// What is wrong with one file, and no reason to stop. No error of the database has this code.
absl::Status FileProblem(std::string_view what) {
  return absl::AbortedError(ToAbsl(what));
}
bool IsFileProblem(const absl::Status& status) {
  return absl::IsAborted(status);
}

struct Listing {
  std::vector<std::string> names;
  std::string problem;
};

Listing List(Files& files, const std::string& folder) {
  Listing listing;
  const int fd = Uninterrupted(
      [&] { return files.OpenAt(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
  if (!ForEachEntry(files, fd, [&](const char* name) {
        if (name[0] != '.') listing.names.emplace_back(name);
      })) {
    listing.problem = Cat(folder, ": ", std::strerror(errno));
  }
  std::sort(listing.names.begin(), listing.names.end());
  return listing;
}

// What lines become, of whatever files.
struct Rows {
  explicit Rows(Database& db)
      : insert_event(db.Prepare("INSERT INTO event (source_id, offset, t_ns, kind, job_id, record)"
                                " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")) {}
  Statement insert_event;
  SeenJobs seen;
  IngestReport report;
};

class FileIngest {
 public:
  FileIngest(Database& db, const IngestOptions& options, std::string cluster, std::string node,
             std::string file)
      : db_(&db),
        options_(&options),
        cluster_(std::move(cluster)),
        node_(std::move(node)),
        file_(std::move(file)) {}

  // How far the file was taken, by whoever took it.
  absl::StatusOr<std::int64_t> Offset() const;
  // Stores the lines of `bytes`, which are at `begin`, behind what was taken of them meanwhile by another.
  absl::Status Take(std::string_view bytes, std::int64_t begin, SpoolLineParser& parser, Rows& rows) const;

 private:
  absl::StatusOr<Source> FindOrMakeSource() const;
  absl::Status TakeLine(std::string_view line, const Source& source, std::int64_t offset,
                        SpoolLineParser& parser, StepStore& steps, Rows& rows) const;

  Database* db_;
  const IngestOptions* options_;
  std::string cluster_;  // that the file names, or empty
  std::string node_;
  std::string file_;
};

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
  rows.insert_event.Bind(1, source.id).Bind(2, offset).Bind(3, record->t_ns).Bind(4, record->kind);
  rows.insert_event.Bind(5, record->job).Bind(6, line);
  return rows.insert_event.Run();
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

// What was read and is not stored yet, of one file or of thousands: a cluster has a file a node and hour, and
// a transaction for each would cost more than its rows.
class Batch {
 public:
  Batch(Database& db, const IngestOptions& options, IngestReport& report)
      : db_(db), options_(options), report_(report), buffer_(kBatchBytes + SpoolLineParser::kPadding, '\0') {}

  // Reads all that is new of a file that had so many bytes when it was looked at. Some of it may stay
  // unstored.
  absl::Status Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size);
  absl::Status Store();

 private:
  struct Piece {
    FileIngest file;
    std::int64_t begin = 0;  // in the file
    std::string_view bytes;  // whole lines
  };
  bool HolesAreSettled(int fd) const;
  absl::StatusOr<std::string_view> ReadPiece(int fd, std::int64_t begin);

  Database& db_;
  const IngestOptions& options_;
  IngestReport& report_;
  SpoolLineParser parser_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::vector<Piece> pieces_;
};

bool Batch::HolesAreSettled(int fd) const {
  struct stat info {};
  return options_.files->FStat(fd, &info) == 0 &&
         options_.clock.real_ns() / 1'000'000'000 - info.st_mtime > kHoleSettlesS;
}

// As much as there is room for; ends before a hole that may still be filled.
absl::StatusOr<std::string_view> Batch::ReadPiece(int fd, std::int64_t begin) {
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

absl::Status Batch::Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size) {
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
    if (!lines.empty()) pieces_.push_back({file, offset, lines});
    used_ += lines.size();
    offset += static_cast<std::int64_t>(lines.size());
    if (!full) return absl::OkStatus();
    if (absl::Status status = Store(); !status.ok()) return status;
  }
}

// Everything was read before: a disk that hangs must not keep others from the database.
absl::Status Batch::Store() {
  if (pieces_.empty()) {
    used_ = 0;
    return absl::OkStatus();
  }
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  IngestReport taken;
  {
    Rows rows(db_);
    for (const Piece& piece : pieces_) {
      absl::Status status = piece.file.Take(piece.bytes, piece.begin, parser_, rows);
      if (!status.ok()) return status;
    }
    if (absl::Status status = rows.seen.Flush(db_); !status.ok()) return status;
    taken = rows.report;
  }
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  report_.records += taken.records;
  report_.bad += taken.bad;
  report_.bytes += taken.bytes;
  pieces_.clear();
  used_ = 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IngestReport> IngestSpool(Database& db, const std::string& spool_root,
                                         const IngestOptions& options) {
  IngestReport report;
  Files& system = *options.files;
  const Listing nodes = List(system, spool_root);
  if (!nodes.problem.empty()) {
    return absl::NotFoundError(Cat("cannot read the spool ", nodes.problem, "; set `spool` in goodput.conf"));
  }
  Batch batch(db, options, report);
  std::string cluster_of_spool;  // as the first file to name one names it
  for (const std::string& node : nodes.names) {
    const std::string folder = Cat(spool_root, "/", node);
    struct stat info {};
    if (system.FStatAt(AT_FDCWD, folder.c_str(), &info, 0) != 0) {
      if (errno != ENOENT) report.problems.push_back(Cat(folder, ": ", std::strerror(errno)));
      continue;
    }
    if (!S_ISDIR(info.st_mode)) continue;
    const Listing files = List(system, folder);
    if (!files.problem.empty()) report.problems.push_back(files.problem);
    const absl::StatusOr<IngestedFiles> ingested = IngestedFiles::OfNode(db, node);
    if (!ingested.ok()) return ingested.status();
    for (const std::string& file : files.names) {
      if (!absl::EndsWith(file, ".jsonl")) continue;
      const std::string path = Cat(folder, "/", file);
      // Most files did not grow, and need not be opened to see that.
      if (!cluster_of_spool.empty() &&
          system.FStatAt(AT_FDCWD, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
          ingested->Wholly(cluster_of_spool, file, info.st_size)) {
        ++report.files;
        continue;
      }
      constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
      const Fd fd(system, Uninterrupted([&] { return system.OpenAt(AT_FDCWD, path.c_str(), kFlags, 0); }));
      const bool readable = fd.get() >= 0 && system.FStat(fd.get(), &info) == 0;
      if (!readable || !S_ISREG(info.st_mode)) {
        report.problems.push_back(Cat(path, ": ", readable ? "not a regular file" : std::strerror(errno)));
        continue;
      }
      ++report.files;
      const absl::StatusOr<std::string> cluster = ClusterOfFile(system, fd.get(), info.st_size);
      if (!cluster.ok()) {
        report.problems.push_back(Cat(path, ": ", Message(cluster.status())));
        continue;
      }
      if (cluster_of_spool.empty()) cluster_of_spool = *cluster;
      const FileIngest ingest(db, options, *cluster, node, file);
      const absl::StatusOr<std::int64_t> offset = ingest.Offset();
      if (!offset.ok()) return offset.status();
      if (*offset > info.st_size) {
        report.problems.push_back(Cat(path, ": is shorter (", info.st_size,
                                      " bytes) than what was ingested (", *offset,
                                      "); spool files only grow: was it replaced?"));
        continue;
      }
      if (absl::Status status = batch.Read(ingest, fd.get(), *offset, info.st_size); !status.ok()) {
        if (!IsFileProblem(status)) return status;
        report.problems.push_back(Cat(path, ": ", Message(status)));
      }
    }
  }
  if (absl::Status status = batch.Store(); !status.ok()) return status;
  return report;
}

}  // namespace goodput
