// Imports the log that Google's goodput library and Orbax write (see google_entry.h): what it says joins jobs
// of Slurm's, or becomes a run of its own.
#pragma once

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/sources/import_export/file_import.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// All of it in one transaction. Entries may be in any order; those of an ordered file stream through, of
// another some ten bytes an entry are held. InvalidArgument, with what to do: no entry in it, or several
// jobs.
absl::StatusOr<FileImportReport> ImportGoogleLog(Database& db, const Input& input,
                                                 const FileImportOptions& options);

}  // namespace goodput
