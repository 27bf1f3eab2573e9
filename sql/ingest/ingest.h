// From spool files to rows, exactly once: an event is (cluster, node, file, offset), and a file's offset is
// stored in the transaction of its rows. Two ingesting processes, or one killed at any moment, neither lose
// nor repeat an event.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "spank/files.h"
#include "sql/database.h"
#include "sql/ingest/spool_memory.h"

namespace goodput {

// A NUL in a file is data on its way, or a hole a crash left. One that is there when nobody has written to
// the file for so long is a hole: the line it is in is set aside, and what is behind it taken.
inline constexpr std::int64_t kHoleSettlesS = 3600;

struct IngestOptions {
  std::string cluster;  // of a spool whose records do not name one
  Files* files = &RealFiles();
  Clock clock = kSystemClock;
  // Of the shared spool (spank/SPOOL_FORMAT.md): names with @ are no nodes', and every folder is this user's.
  bool shared = false;
  uid_t owner = 0;
  std::string only_folder = {};      // no other; empty: all
  std::set<std::string> avoid = {};  // folders that are left alone
  std::int64_t remove_after_s =
      0;  // files that are in the database and were not written to for so long; 0: none
  // Beyond so many bytes of a folder, files that are in the database are removed after two hours, the oldest
  // first, unless a job that still runs began in them. 0: no limit.
  std::int64_t most_bytes = 0;
  SpoolMemory* memory = nullptr;  // of the passes before; none: everything is looked at
  std::function<void(std::string_view folder)> at = {};  // before it is touched; "": after the last
  std::function<bool()> out_of_time = {};                // then the pass ends between two files
};

struct IngestReport {
  std::int64_t files = 0;             // looked at
  std::int64_t records = 0;           // new
  std::int64_t bytes = 0;             // new, bad lines included
  std::int64_t bad = 0;               // lines set aside in `quarantine`
  std::int64_t removed = 0;           // files
  bool whole = true;                  // false: out of time before all was looked at
  std::vector<std::string> problems;  // files or folders that could not be read; the others were
};

// Ingests what is new below `spool_root` (a folder a node). A missing root is an error; a file that cannot be
// read is a problem in the report and stops nothing else. A database that cannot be written is an error.
absl::StatusOr<IngestReport> IngestSpool(Database& db, const std::string& spool_root,
                                         const IngestOptions& options);

}  // namespace goodput
