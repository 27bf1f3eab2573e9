// New lines of spool files, read first and then stored in one transaction: of one file or of thousands, for a
// cluster has a file a node and hour, and a transaction for each would cost more than its rows.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/ingest/file_ingest.h"
#include "sql/ingest/ingest.h"
#include "sql/ingest/line_templates.h"

namespace goodput {

// What is wrong with one file, and no reason to stop. No error of the database has this code.
absl::Status FileProblem(std::string_view what);
bool IsFileProblem(const absl::Status& status);

class IngestBatch {
 public:
  IngestBatch(Database& db, const IngestOptions& options, IngestReport& report);

  // Reads all that is new of a file that had so many bytes when it was looked at. Some of it may stay
  // unstored. `memory` learns how far the file is stored, where the passes' memory is kept at all.
  absl::Status Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size,
                    SpoolMemory::File& memory);
  // The same of a file of which nothing is in the database and whose cluster nobody has asked for yet. False:
  // it could not be read in one go; nothing has become of it.
  absl::StatusOr<bool> ReadWhole(FileIngest file, int fd, std::int64_t file_size, SpoolMemory::File& memory);
  // Stores all that was read.
  absl::Status Store();
  // While the next transaction is being read, the one before may be stored by another thread: the database is
  // nobody else's until this returns.
  absl::Status Settle();

 private:
  struct Piece {
    FileIngest file;
    std::int64_t begin = 0;      // in the file
    std::string_view bytes;      // whole lines
    SpoolMemory::File* memory;   // null: nobody asks later
    bool names_cluster = false;  // the file does not have its cluster yet; these bytes are all of it
  };
  // What becomes one transaction.
  struct Batch {
    std::unique_ptr<char[]> buffer;  // NOLINT(modernize-avoid-c-arrays): of bytes nobody has cleared
    std::size_t used = 0;
    void MakeRoom();
    std::vector<Piece> pieces;
  };
  absl::StatusOr<IngestReport> StoreNow(Batch& batch);
  absl::Status StoreBeside();
  absl::Status Taken(const absl::StatusOr<IngestReport>& taken);
  absl::Status MakeRoomFor(std::int64_t bytes);
  SpoolMemory::File* Kept(SpoolMemory::File& memory) const;
  std::string ClusterOf(const Piece& piece);
  bool HolesAreSettled(int fd) const;
  absl::StatusOr<std::string_view> ReadPiece(int fd, std::int64_t begin, std::int64_t file_size);

  Database& db_;
  const IngestOptions& options_;
  IngestReport& report_;
  const std::int64_t others_;  // what they had written when this began
  // Of who stores.
  LineTemplates parser_;
  LineTemplates beginnings_;
  Batch read_;
  Batch stored_;
  std::future<absl::StatusOr<IngestReport>> storing_;  // stored_; it is waited for before the rest is gone
};

}  // namespace goodput
