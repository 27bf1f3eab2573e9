// Writes what is recorded of jobs as the spool has it (spank/SPOOL_FORMAT.md): also what the database keeps
// in blocks, which SQLite's own functions cannot read.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// Calls `write` with whole lines; an error it returns ends the export. Of each job first the records that
// have rows, by time, and then those in blocks, to the byte as they were written (of those that were replaced
// by a summary, what the summary keeps); then its step marks, of which the database does not keep `m`,
// `stepd` and whose they are. What was imported is none of the spool's.
absl::Status ExportSpoolRecords(Database& db, const std::vector<JobKey>& jobs,
                                const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
