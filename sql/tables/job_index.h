// Which jobs a source has records of, and under which run names: kept next to the events, so that finding
// them does not read all events.
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
  // `cluster`: the source's; `run`: the run name, if the record has one.
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
  // Most records belong to the same job as the record before.
  std::int64_t last_job_ = 0;
  std::string last_cluster_;
  Span* last_ = nullptr;
};

// Assigns a source's jobs to another cluster, once it is known; they are removed from the previous one unless
// another source has them. Call before the source's row changes, within a transaction.
absl::Status MoveSeenJobs(Database& db, std::int64_t source_id, const std::string& from,
                          const std::string& to);

}  // namespace goodput
