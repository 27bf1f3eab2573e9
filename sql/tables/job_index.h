// Which jobs a source tells of, and by which runs' names: kept beside the events, so that nobody has to look
// through them for that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/status/status.h"
#include "sql/database.h"

namespace goodput {

class SeenJobs {
 public:
  // `cluster`: the source's; `run`: where the record says one.
  void Add(std::int64_t job_id, std::string_view cluster, std::string_view run, std::int64_t t_ns);
  // Stores what was added, within the caller's transaction.
  absl::Status Flush(Database& db);

 private:
  struct Span {
    std::int64_t first_s;
    std::int64_t last_s;
  };
  using Key = std::tuple<std::int64_t, std::string, std::string>;  // job id, cluster, run
  void Note(std::int64_t job_id, std::string_view cluster, std::string_view run, std::int64_t t_s);

  std::map<Key, Span> spans_;
  // Most records are of the job of the record before.
  std::int64_t last_job_ = 0;
  std::string last_cluster_;
  Span* last_ = nullptr;
};

// A source turns out to be of another cluster: what it told of is that one's, too, and no longer the other's
// unless another source says so. Before the source's row is changed, within the caller's transaction.
absl::Status MoveSeenJobs(Database& db, std::int64_t source_id, const std::string& from,
                          const std::string& to);

}  // namespace goodput
