// From spool files to rows, exactly once: an event is (cluster, node, file, offset), and a file's offset is
// stored in the transaction of its rows. Two ingesting processes, or one killed at any moment, neither lose
// nor repeat an event.
#ifndef GOODPUT_SQL_INGEST_H_
#define GOODPUT_SQL_INGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "spank/files.h"
#include "sql/database.h"

namespace goodput {

// A NUL in a file is data on its way, or a hole a crash left. One that is there when nobody has written to
// the file for so long is a hole: the line it is in is set aside, and what is behind it taken.
inline constexpr std::int64_t kHoleSettlesS = 3600;

struct IngestOptions {
  std::string cluster;  // of a spool whose records do not name one
  Files* files = &RealFiles();
  Clock clock = kSystemClock;
};

struct IngestReport {
  std::int64_t files = 0;             // looked at
  std::int64_t records = 0;           // new
  std::int64_t bytes = 0;             // new, bad lines included
  std::int64_t bad = 0;               // lines set aside in `quarantine`
  std::vector<std::string> problems;  // files or folders that could not be read; the others were
};

// Ingests what is new below `spool_root` (a folder a node). A missing root is an error; a file that cannot be
// read is a problem in the report and stops nothing else. A database that cannot be written is an error.
absl::StatusOr<IngestReport> IngestSpool(Database& db, const std::string& spool_root,
                                         const IngestOptions& options);

}  // namespace goodput

#endif  // GOODPUT_SQL_INGEST_H_
