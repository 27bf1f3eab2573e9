// New lines of spool files, read first and then stored in one transaction: of one file or of thousands, for a
// cluster has a file a node and hour, and a transaction for each would cost more than its rows.
#ifndef GOODPUT_SQL_INGEST_BATCH_H_
#define GOODPUT_SQL_INGEST_BATCH_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/ingest.h"
#include "sql/known_shapes.h"
#include "sql/source.h"
#include "sql/step_store.h"

namespace goodput {

// What is wrong with one file, and no reason to stop. No error of the database has this code.
absl::Status FileProblem(std::string_view what);
bool IsFileProblem(const absl::Status& status);

// A file, and what becomes of its lines.
class FileIngest {
 public:
  // `cluster`: that the file names, or empty.
  FileIngest(Database& db, const IngestOptions& options, std::string cluster, std::string node,
             std::string file);

  const std::string& node() const { return node_; }
  const std::string& file() const { return file_; }
  const std::string& cluster() const { return cluster_; }
  // How far the file was taken, by whoever took it.
  absl::StatusOr<std::int64_t> Offset() const;
  struct Rows;
  // Stores the lines of `bytes`, which are at `begin`, behind what was taken of them meanwhile by another.
  absl::Status Take(std::string_view bytes, std::int64_t begin, KnownShapes& parser, Rows& rows) const;

 private:
  absl::StatusOr<Source> FindOrMakeSource(Rows& rows) const;
  absl::Status TakeLine(std::string_view line, const Source& source, std::int64_t offset, KnownShapes& parser,
                        StepStore& steps, Rows& rows) const;

  Database* db_;
  const IngestOptions* options_;
  std::string cluster_;
  std::string node_;
  std::string file_;
};

class IngestBatch {
 public:
  IngestBatch(Database& db, const IngestOptions& options, IngestReport& report);

  // Reads all that is new of a file that had so many bytes when it was looked at. Some of it may stay
  // unstored. `memory` learns how far the file is stored, where the passes' memory is kept at all.
  // `begun`: what Begin gave of it just before.
  absl::Status Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size,
                    SpoolMemory::File& memory, std::optional<std::string_view> begun = std::nullopt);
  // The beginning of a file, as much of it as one transaction takes.
  absl::StatusOr<std::string_view> Begin(int fd, std::int64_t file_size);
  // As ClusterOfFile, of a file that begins with these bytes; absent: they are not enough of it to know.
  std::optional<std::string> ClusterOf(std::string_view begun, const std::string& node,
                                       std::int64_t file_size);
  // Stores all that was read.
  absl::Status Store();
  // While the next transaction is being read, the one before may be stored by another thread: the database is
  // nobody else's until this returns.
  absl::Status Settle();

 private:
  struct Piece {
    FileIngest file;
    std::int64_t begin = 0;     // in the file
    std::string_view bytes;     // whole lines
    SpoolMemory::File* memory;  // null: nobody asks later
  };
  // What becomes one transaction.
  struct Batch {
    std::unique_ptr<char[]> buffer;  // NOLINT(modernize-avoid-c-arrays): of bytes nobody has cleared
    std::size_t used = 0;
    void MakeRoom();
    std::vector<Piece> pieces;
  };
  absl::StatusOr<IngestReport> StoreNow(const Batch& batch);
  absl::Status StoreBeside();
  absl::Status Taken(const absl::StatusOr<IngestReport>& taken);
  bool HolesAreSettled(int fd) const;
  absl::StatusOr<std::string_view> ReadPiece(int fd, std::int64_t begin, std::int64_t file_size);

  Database& db_;
  const IngestOptions& options_;
  IngestReport& report_;
  KnownShapes parser_;      // of who stores
  KnownShapes beginnings_;  // of who reads
  Batch read_;
  Batch stored_;
  std::future<absl::StatusOr<IngestReport>> storing_;  // stored_; it is waited for before the rest is gone
};

}  // namespace goodput

#endif  // GOODPUT_SQL_INGEST_BATCH_H_
