// Imports the restart cycles of NVRx (see nvrx_cycle.h) into Slurm jobs.
#pragma once

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/sources/import_export/file_import.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// Imports all cycles of the files as "N of M GPUs train, S wait" marks of the jobs in whose allocations they
// began, in one transaction; a node has an equal part of its job's GPUs. M is the most that trained so far in
// the allocation. InvalidArgument, with what to do: no job was named, its nodes do not have equally many
// GPUs, or no cycle began in it.
absl::StatusOr<FileImportReport> ImportNvrxCycles(Database& db, const Input& input,
                                                  const FileImportOptions& options);

}  // namespace goodput
