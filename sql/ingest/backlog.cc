#include "sql/ingest/backlog.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "spank/files.h"
#include "sql/status_macros.h"
#include "sql/tables/source.h"

namespace goodput {
namespace {

// Enough to find the end of the last whole line, and far more than a record.
constexpr std::int64_t kLookBytes = std::int64_t{64} << 10U;

std::string ReadAt(const std::string& path, std::int64_t offset, std::int64_t size) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(offset);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), size);
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void Look(const std::string& path, std::int64_t offset, const struct stat& info, Clock clock,
          Backlog& backlog) {
  const std::int64_t behind = info.st_size - offset;
  if (behind <= 0) return;
  const std::int64_t idle_s = clock.real_ns() / 1'000'000'000 - info.st_mtime;
  const auto hold = [&](std::int64_t at, bool hole) {
    backlog.held.push_back({path, at, info.st_size - at, hole, std::max<std::int64_t>(0, idle_s)});
  };
  // Where ingest goes on. A hole further in is found when ingest has come to it.
  const std::string next = ReadAt(path, offset, std::min(behind, kLookBytes));
  const std::size_t hole = next.find('\0');
  if (hole != std::string::npos) {
    const std::size_t line = next.rfind('\n', hole);
    hold(offset + static_cast<std::int64_t>(line == std::string::npos ? 0 : line + 1), true);
    return;
  }
  const std::int64_t from = std::max(offset, info.st_size - kLookBytes);
  const std::string last = ReadAt(path, from, info.st_size - from);
  const std::size_t newline = last.rfind('\n');
  const std::int64_t end =
      newline == std::string::npos ? from : from + static_cast<std::int64_t>(newline) + 1;
  backlog.new_bytes += end - offset;
  if (end < info.st_size) hold(end, false);
}

}  // namespace

absl::StatusOr<Backlog> FindBacklog(Database& db, const std::string& spool_root, const std::string& cluster,
                                    Clock clock) {
  namespace fs = std::filesystem;
  Backlog backlog;
  std::error_code ignored;
  for (const fs::directory_entry& node : fs::directory_iterator(spool_root, ignored)) {
    if (!node.is_directory(ignored)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(node.path(), ignored)) {
      struct stat info {};
      if (file.path().extension() != ".jsonl" || lstat(file.path().c_str(), &info) != 0 ||
          !S_ISREG(info.st_mode)) {
        continue;
      }
      const int fd = open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      const Fd owned(RealFiles(), fd);
      const absl::StatusOr<std::string> named = ClusterOfFile(RealFiles(), fd, info.st_size);
      if (!named.ok()) continue;
      ASSIGN_OR_RETURN(const std::optional<Source> known,
                       FindSource(db, *named, cluster, node.path().filename(), file.path().filename()));
      Look(file.path(), known ? known->offset : 0, info, clock, backlog);
    }
  }
  return backlog;
}

}  // namespace goodput
