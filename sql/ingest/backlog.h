// What the spool holds that is not in the database, and why: new, or held back by a file's damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "sql/database.h"

namespace goodput {

struct Backlog {
  std::int64_t new_bytes = 0;  // whole lines that the next ingest takes
  struct Held {
    std::string path;
    std::int64_t offset = 0;  // where reading stopped
    std::int64_t bytes = 0;   // from there to the file's end
    bool hole = false;        // NUL bytes; else a last line without its newline
    std::int64_t idle_s = 0;  // since the file was last written to
  };
  std::vector<Held> held;
};

// Only reads. `cluster`: as in IngestOptions. A file that cannot be read is left out: ingest says so.
absl::StatusOr<Backlog> FindBacklog(Database& db, const std::string& spool_root, const std::string& cluster,
                                    Clock clock = kSystemClock);

}  // namespace goodput
