#include "sql/ingest/ingest_batch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "spank/clock.h"
#include "sql/spool_line.h"
#include "sql/status_macros.h"
#include "sql/tables/source.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Bytes taken in one transaction: enough to be fast, few enough not to hold the lock for a second.
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kManyBytes = std::size_t{256} << 10U;

}  // namespace

absl::Status FileProblem(std::string_view what) {
  return absl::AbortedError(ToAbsl(what));
}

bool IsFileProblem(const absl::Status& status) {
  return absl::IsAborted(status);
}

// As it comes: to clear it would cost more than to take in a few records.
void IngestBatch::Batch::MakeRoom() {
  buffer = std::unique_ptr<char[]>(new char[kBatchBytes + SpoolLineParser::kPadding]);
}

IngestBatch::IngestBatch(Database& db, const IngestOptions& options, IngestReport& report)
    : db_(db), options_(options), report_(report), others_(db.WritesOfOthers()) {
  read_.MakeRoom();
}

bool IngestBatch::HolesAreSettled(int fd) const {
  struct stat info {};
  return options_.files->FStat(fd, &info) == 0 &&
         options_.clock.real_ns() / kSecondNs - info.st_mtime > kHoleSettlesS;
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

// Of a file that has so many left; what is longer than a batch begins one.
absl::Status IngestBatch::MakeRoomFor(std::int64_t bytes) {
  const auto fits = static_cast<std::int64_t>(kBatchBytes - read_.used);
  return read_.used > 0 && bytes > fits ? StoreBeside() : absl::OkStatus();
}

SpoolMemory::File* IngestBatch::Kept(SpoolMemory::File& memory) const {
  return options_.memory != nullptr ? &memory : nullptr;
}

absl::StatusOr<bool> IngestBatch::ReadWhole(FileIngest file, int fd, std::int64_t file_size,
                                            SpoolMemory::File& memory) {
  if (file_size > static_cast<std::int64_t>(kBatchBytes)) return false;
  RETURN_IF_ERROR(MakeRoomFor(file_size));
  ASSIGN_OR_RETURN(const std::string_view piece, ReadPiece(fd, 0, file_size));
  if (static_cast<std::int64_t>(piece.size()) != file_size) return false;
  const std::string_view lines = piece.substr(0, piece.rfind('\n') + 1);
  if (!lines.empty()) read_.pieces.push_back({std::move(file), 0, lines, Kept(memory), true});
  read_.used += lines.size();
  return true;
}

absl::Status IngestBatch::Read(const FileIngest& file, int fd, std::int64_t offset, std::int64_t file_size,
                               SpoolMemory::File& memory) {
  while (true) {
    RETURN_IF_ERROR(MakeRoomFor(file_size - offset));
    const std::size_t most = kBatchBytes - read_.used;
    ASSIGN_OR_RETURN(const std::string_view piece, ReadPiece(fd, offset, file_size));
    const std::string_view lines = piece.substr(0, piece.rfind('\n') + 1);
    const bool full = piece.size() == most;
    // No newline in a whole batch: whatever this is, it is no spool.
    if (lines.empty() && full && read_.used == 0) return FileProblem("no newline for 4 MiB");
    if (!lines.empty()) read_.pieces.push_back({file, offset, lines, Kept(memory)});
    read_.used += lines.size();
    offset += static_cast<std::int64_t>(lines.size());
    if (!full) return absl::OkStatus();
    RETURN_IF_ERROR(StoreBeside());
    if (options_.at) options_.at(file.place().node);
  }
}

// As ClusterOfFile, of a file that is here.
std::string IngestBatch::ClusterOf(const Piece& piece) {
  const std::string_view node = piece.file.place().node;
  return ClusterNamedIn(piece.bytes.substr(0, kClusterNamedWithin), [&](std::string_view line) {
    const absl::StatusOr<SpoolLine> record = beginnings_.Parse(line, node);
    return record.ok() ? std::string(record->cluster) : std::string();
  });
}

// Everything was read before: a disk that hangs must not keep others from the database.
absl::StatusOr<IngestReport> IngestBatch::StoreNow(Batch& batch) {
  for (Piece& piece : batch.pieces) {
    if (piece.names_cluster) piece.file.NameCluster(ClusterOf(piece));
  }
  // Each event's source is found or made with it. To say so compiles every statement anew.
  std::optional<UncheckedReferences> unchecked;
  if (batch.used > kManyBytes) unchecked.emplace(db_);
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  IngestReport taken;
  {
    NewRows rows(db_, !unchecked, others_ >= 0 && db_.WritesOfOthers() == others_, options_.memory);
    for (const Piece& piece : batch.pieces) {
      absl::Status status = piece.file.Take(db_, piece.bytes, piece.begin, parser_, rows);
      if (!status.ok()) return status;
    }
    RETURN_IF_ERROR(rows.Flush(db_));
    taken.records = rows.records;
    taken.bytes = rows.bytes;
    taken.bad = rows.bad;
  }
  RETURN_IF_ERROR(transaction.Commit());
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
    if (piece.names_cluster) piece.memory->cluster = piece.file.place().cluster;
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
  RETURN_IF_ERROR(Settle());
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
  RETURN_IF_ERROR(Settle());
  if (read_.pieces.empty()) return absl::OkStatus();
  std::swap(read_, stored_);
  absl::Status status = Taken(StoreNow(stored_));
  // What is read after this needs room again.
  if (read_.buffer == nullptr) std::swap(read_.buffer, stored_.buffer);
  return status;
}

}  // namespace goodput
