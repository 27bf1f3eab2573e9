// A spool file as the database remembers it. Two clusters whose controllers share a host may have files of
// the same node, boot and hour; the cluster named in the files' records then tells them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "spank/files.h"
#include "sql/database.h"

namespace goodput {

// How much of the file's beginning is searched for that name: a prolog comes first and has it.
inline constexpr std::size_t kClusterNamedWithin = std::size_t{16} << 10U;
// The first cluster that a complete line names; `cluster_of` returns the one in a line, or nothing.
std::string ClusterNamedIn(std::string_view beginning,
                           const std::function<std::string(std::string_view line)>& cluster_of);
// The cluster named at the beginning of a file of this size, which does not change as it grows; empty if none
// is named (yet).
absl::StatusOr<std::string> ClusterOfFile(Files& files, int fd, std::int64_t file_size);

// A spool file is BOOT.HOUR.jsonl.
inline std::string_view BootOf(std::string_view file) {
  return file.substr(0, file.find('.'));
}

struct Source {
  std::int64_t id = 0;
  std::int64_t offset = 0;  // all bytes before it are ingested
  std::string cluster;
  bool is_new = false;   // it has no row yet
  std::int64_t bad = 0;  // lines that were set aside
};
// The row of a file whose beginning names `cluster`, or of one that was first seen before it did, under
// `fallback`. A file without a cluster matches by its name.
absl::StatusOr<std::optional<Source>> FindSource(Database& db, const std::string& cluster,
                                                 const std::string& fallback, const std::string& node,
                                                 const std::string& file);

// Whether anything was ever ingested.
absl::StatusOr<bool> AnySource(Database& db);

// How far the files of one node are ingested: one query for the many files that do not grow.
class IngestedFiles {
 public:
  static absl::StatusOr<IngestedFiles> OfNode(Database& db, const std::string& node);
  // Whether all bytes of a file with that name and size, in a spool of `cluster`, are ingested.
  bool Wholly(const std::string& cluster, const std::string& file, std::int64_t size) const;
  // Whether any byte of a file with that name is ingested, of any cluster.
  bool Any(const std::string& file) const { return files_.count(file) != 0; }

 private:
  struct Taken {
    std::string cluster;
    std::int64_t offset;
  };
  std::multimap<std::string, Taken> files_;
};

}  // namespace goodput
