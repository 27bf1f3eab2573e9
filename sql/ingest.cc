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
#include "sql/source.h"
#include "sql/spool_line.h"
#include "sql/step_store.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Bytes of a file taken in one transaction: long enough to be fast, short enough not to hold the lock for a
// second.
constexpr std::size_t kChunkBytes = std::size_t{4} << 20U;
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

class FileIngest {
 public:
  FileIngest(Database& db, const IngestOptions& options, std::string cluster, std::string node,
             std::string file)
      : db_(db),
        options_(options),
        cluster_(std::move(cluster)),
        node_(std::move(node)),
        file_(std::move(file)) {}

  // How far the file was taken, by whoever took it.
  absl::StatusOr<std::int64_t> Offset();
  // Takes one chunk. True: there may be more.
  absl::StatusOr<bool> TakeChunk(int fd, IngestReport& report);

 private:
  bool HolesAreSettled(int fd);
  absl::StatusOr<std::string> ReadChunk(int fd, std::int64_t begin);
  absl::Status FindOrMakeSource();
  absl::Status TakeLine(std::string_view line, std::int64_t offset, IngestReport& report);

  Database& db_;
  const IngestOptions& options_;
  std::string cluster_;  // that the file names, or empty
  std::string node_;
  std::string file_;
  SpoolLineParser parser_;
  std::int64_t source_id_ = 0;
  std::optional<Statement> insert_event_;
  std::optional<StepStore> steps_;
};

// The file's row; one from before its cluster was named is given it.
absl::Status FileIngest::FindOrMakeSource() {
  const absl::StatusOr<std::optional<Source>> known =
      FindSource(db_, cluster_, options_.cluster, node_, file_);
  if (!known.ok()) return known.status();
  if (!*known) {
    Statement insert = db_.Prepare("INSERT INTO source (cluster, node, file) VALUES (?1, ?2, ?3)");
    insert.Bind(1, cluster_.empty() ? options_.cluster : cluster_).Bind(2, node_).Bind(3, file_);
    absl::Status status = insert.Run();
    source_id_ = db_.LastInsertId();
    return status;
  }
  source_id_ = (*known)->id;
  if (cluster_.empty() || (*known)->cluster == cluster_) return absl::OkStatus();
  Statement update = db_.Prepare("UPDATE source SET cluster = ?2 WHERE id = ?1");
  update.Bind(1, source_id_).Bind(2, cluster_);
  return update.Run();
}

absl::Status FileIngest::TakeLine(std::string_view line, std::int64_t offset, IngestReport& report) {
  absl::StatusOr<SpoolLine> record = parser_.Parse(line);
  if (!record.ok() && line.find('\0') != std::string_view::npos) {
    record = absl::InvalidArgumentError("a hole in the file");
  }
  if (record.ok() && record->node != node_) {
    record = absl::InvalidArgumentError(Cat("`node` is not the folder's ", node_));
  }
  if (!record.ok()) {
    ++report.bad;
    Statement set_aside = db_.Prepare(
        "INSERT OR IGNORE INTO quarantine (source_id, offset, reason, excerpt) VALUES (?1, ?2, ?3, ?4)");
    set_aside.Bind(1, source_id_).Bind(2, offset).Bind(3, Message(record.status()));
    set_aside.Bind(4, line.substr(0, kExcerptBytes));
    return set_aside.Run();
  }
  ++report.records;
  if (record->is_step_mark) {
    return steps_->Append(*record->job, record->slurm_step,
                          {record->t_ns, record->train_step, record->task.value_or(0), offset},
                          record->t_ns - record->m_ns);
  }
  insert_event_->Bind(1, source_id_).Bind(2, offset).Bind(3, record->t_ns).Bind(4, record->kind);
  insert_event_->Bind(5, record->job).Bind(6, line);
  return insert_event_->Run();
}

absl::StatusOr<std::int64_t> FileIngest::Offset() {
  const absl::StatusOr<std::optional<Source>> known =
      FindSource(db_, cluster_, options_.cluster, node_, file_);
  if (!known.ok()) return known.status();
  return *known ? (*known)->offset : 0;
}

bool FileIngest::HolesAreSettled(int fd) {
  struct stat info {};
  return options_.files->FStat(fd, &info) == 0 &&
         options_.clock.real_ns() / 1'000'000'000 - info.st_mtime > kHoleSettlesS;
}

// At most kChunkBytes, with padding behind them; ends before a hole that may still be filled.
absl::StatusOr<std::string> FileIngest::ReadChunk(int fd, std::int64_t begin) {
  std::string buffer(kChunkBytes + SpoolLineParser::kPadding, '\0');
  std::size_t size = 0;
  while (size < kChunkBytes) {
    const ssize_t got = Uninterrupted([&] {
      return options_.files->PRead(fd, buffer.data() + size, kChunkBytes - size,
                                   begin + static_cast<off_t>(size));
    });
    // What was read before a bad place is as good as ever; the next chunk begins at it and says what it is.
    if (got < 0 && size == 0) return FileProblem(std::strerror(errno));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  const std::size_t hole = std::min(size, buffer.find('\0'));
  buffer.resize(hole < size && !HolesAreSettled(fd) ? hole : size);
  buffer.reserve(buffer.size() + SpoolLineParser::kPadding);
  return buffer;
}

absl::StatusOr<bool> FileIngest::TakeChunk(int fd, IngestReport& report) {
  // Read first, then lock: a disk that hangs must not keep others from the database.
  const absl::StatusOr<std::int64_t> from = Offset();
  if (!from.ok()) return from.status();
  const std::int64_t begin = *from;
  const absl::StatusOr<std::string> chunk = ReadChunk(fd, begin);
  if (!chunk.ok()) return chunk.status();
  const std::string& buffer = *chunk;
  const bool full = buffer.size() == kChunkBytes;
  const std::size_t last_newline = buffer.rfind('\n');
  if (last_newline == std::string::npos) {
    if (!full) return false;
    // No newline in a whole chunk: whatever this is, it is no spool.
    return FileProblem("no newline for 4 MiB");
  }
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  const absl::StatusOr<std::int64_t> now = Offset();
  if (!now.ok()) return now.status();
  if (*now != begin) return true;  // another took it meanwhile
  const std::string_view bytes(buffer.data(), last_newline + 1);
  if (absl::Status status = FindOrMakeSource(); !status.ok()) return status;
  insert_event_.emplace(db_.Prepare(
      "INSERT INTO event (source_id, offset, t_ns, kind, job_id, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  steps_.emplace(db_, source_id_);
  IngestReport taken;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t end = bytes.find('\n', at);
    if (end > at) {
      absl::Status status =
          TakeLine(bytes.substr(at, end - at), begin + static_cast<std::int64_t>(at), taken);
      if (!status.ok()) return status;
    }
    at = end + 1;
  }
  if (absl::Status status = steps_->Flush(); !status.ok()) return status;
  Statement advance =
      db_.Prepare("UPDATE source SET offset = ?2, records = records + ?3, bad = bad + ?4 WHERE id = ?1");
  advance.Bind(1, source_id_).Bind(2, begin + static_cast<std::int64_t>(bytes.size()));
  advance.Bind(3, taken.records).Bind(4, taken.bad);
  if (absl::Status status = advance.Run(); !status.ok()) return status;
  insert_event_.reset();
  steps_.reset();
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  report.records += taken.records;
  report.bad += taken.bad;
  report.bytes += static_cast<std::int64_t>(bytes.size());
  return full;
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
      FileIngest ingest(db, options, *cluster, node, file);
      const absl::StatusOr<std::int64_t> offset = ingest.Offset();
      if (!offset.ok()) return offset.status();
      if (*offset > info.st_size) {
        report.problems.push_back(Cat(path, ": is shorter (", info.st_size,
                                      " bytes) than what was ingested (", *offset,
                                      "); spool files only grow: was it replaced?"));
        continue;
      }
      while (true) {
        absl::StatusOr<bool> more = ingest.TakeChunk(fd.get(), report);
        if (!more.ok()) {
          if (!IsFileProblem(more.status())) return more.status();
          report.problems.push_back(Cat(path, ": ", Message(more.status())));
        }
        if (!more.ok() || !*more) break;
      }
    }
  }
  return report;
}

}  // namespace goodput
