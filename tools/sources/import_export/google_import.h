// Imports the log that Google's goodput library and Orbax write (see google_entry.h), into Slurm jobs or as a
// run of its own.
#pragma once

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/sources/import_export/file_import.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// Imports everything in one transaction. Entries may be in any order; those of a sorted file stream through,
// otherwise some ten bytes per entry are held. InvalidArgument, with what to do: there is no entry, or there
// are several jobs.
absl::StatusOr<FileImportReport> ImportGoogleLog(Database& db, const Input& input,
                                                 const FileImportOptions& options);

}  // namespace goodput
