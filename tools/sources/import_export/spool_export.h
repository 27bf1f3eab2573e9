// Writes the records of jobs in the format of the spool (spank/SPOOL_FORMAT.md), including those that the
// database keeps in blocks, which SQLite's own functions cannot read.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// Calls `write` with complete lines; an error it returns ends the export. For each job, first the records
// that have rows, by time; then those in blocks, exactly as they were written (for those that a summary
// replaced, what it keeps); then its step marks, of which the database does not keep `m`, `stepd` and the
// owner. Imported records are not included.
absl::Status ExportSpoolRecords(Database& db, const std::vector<JobKey>& jobs,
                                const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
