// What is packed in the database, as tables for SQL.
//
// Large jobs' records, old records, training steps and imported marks are stored in blocks that SQLite cannot
// read by itself. AddVirtualTables registers functions that unpack a block, and temporary views over rows and
// blocks alike, so that a query need not know how something is stored:
//   events  every record that is not a step mark      steps  every step mark
//   marks   every mark that is not a step             node_event, job_option  as in SCHEMA.md, but complete
// SCHEMA.md describes their columns.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sql/database.h"

namespace goodput {

// For this connection; nothing is written to the database.
absl::Status AddVirtualTables(Database& db);

// While it lives, the connection only reads: statements other than SELECT, and what a SELECT may do besides
// reading, are errors. A query that is still running `longest` after the beginning is interrupted: as long as
// it reads, what others write cannot be merged into the database's file.
class ReadingOnly {
 public:
  ReadingOnly(Database& db, absl::Duration longest);
  ~ReadingOnly();
  ReadingOnly(const ReadingOnly&) = delete;
  ReadingOnly& operator=(const ReadingOnly&) = delete;
  bool time_is_over() const;

 private:
  Database& db_;
  std::int64_t end_ns_;
};

}  // namespace goodput
