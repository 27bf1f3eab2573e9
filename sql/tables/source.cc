#include "sql/tables/source.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "sql/spool_line.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kBeginning = kClusterNamedWithin;

}  // namespace

std::string ClusterNamedIn(std::string_view beginning,
                           const std::function<std::string(std::string_view line)>& cluster_of) {
  for (std::size_t at = 0; at < beginning.size();) {
    const std::size_t end = beginning.find('\n', at);
    if (end == std::string_view::npos) break;
    std::string cluster = cluster_of(beginning.substr(at, end - at));
    if (!cluster.empty()) return cluster;
    at = end + 1;
  }
  return std::string();
}

absl::StatusOr<std::string> ClusterOfFile(Files& files, int fd, std::int64_t file_size) {
  std::string bytes(kBeginning + SpoolLineParser::kPadding, '\0');
  std::size_t size = 0;
  while (size < kBeginning) {
    const ssize_t got = Uninterrupted(
        [&] { return files.PRead(fd, bytes.data() + size, kBeginning - size, static_cast<off_t>(size)); });
    if (got < 0) return absl::UnavailableError(std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  // If it named the cluster, that would never be found.
  if (static_cast<std::int64_t>(size) < std::min<std::int64_t>(file_size, kBeginning))
    return absl::UnavailableError("its beginning cannot be read whole");
  const std::string_view text(bytes.data(), size);
  SpoolLineParser parser;
  return ClusterNamedIn(text, [&](std::string_view line) {
    const absl::StatusOr<SpoolLine> record = parser.Parse(line);
    return record.ok() ? std::string(record->cluster) : std::string();
  });
}

absl::StatusOr<std::optional<Source>> FindSource(Database& db, const std::string& cluster,
                                                 const std::string& fallback, const std::string& node,
                                                 const std::string& file) {
  Statement known = db.Prepare(
      "SELECT id, offset, cluster, bad FROM source WHERE node = ?1 AND file = ?2"
      " AND (?3 = '' OR cluster IN (?3, ?4, '')) ORDER BY cluster = ?3 DESC, cluster = ?4 DESC, id LIMIT 1");
  known.Bind(1, node).Bind(2, file).Bind(3, cluster).Bind(4, fallback);
  std::optional<Source> source;
  if (known.Step()) source = Source{known.Int(0), known.Int(1), known.Text(2), false, known.Int(3)};
  if (!known.status().ok()) return known.status();
  return source;
}

absl::StatusOr<bool> AnySource(Database& db) {
  Statement any = db.Prepare("SELECT 1 FROM source LIMIT 1");
  const bool found = any.Step();
  if (!any.status().ok()) return any.status();
  return found;
}

absl::StatusOr<IngestedFiles> IngestedFiles::OfNode(Database& db, const std::string& node) {
  Statement known = db.Prepare("SELECT file, cluster, offset FROM source WHERE node = ?1");
  known.Bind(1, node);
  IngestedFiles ingested;
  while (known.Step()) ingested.files_.emplace(known.Text(0), Taken{known.Text(1), known.Int(2)});
  if (!known.status().ok()) return known.status();
  return ingested;
}

bool IngestedFiles::Wholly(const std::string& cluster, const std::string& file, std::int64_t size) const {
  const auto [begin, end] = files_.equal_range(file);
  return std::any_of(begin, end, [&](const auto& entry) {
    const Taken& taken = entry.second;
    return taken.offset == size && (taken.cluster == cluster || taken.cluster.empty());
  });
}

}  // namespace goodput
