// Imports what a framework printed, by a log profile: what it says joins jobs of Slurm's, or becomes a run of
// its own.
//
// A line's time is its own, or that which whoever passed it on put in front of it; a wall clock's is in the
// zone given, and a year it lacks is that of the file. Lines without one lie between those that have one, as
// far apart as they say that steps took; the states of a progress bar are as far apart as the bar says. Where
// no line has a time, the log begins when the caller says, or ends with the one job it joins, or else when
// the file was last written to. Of several progress bars only the training's counts.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sql/database.h"
#include "tools/sources/import_export/file_import.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

struct LogImportOptions {
  std::string profile;        // a name, or auto
  std::string site_profiles;  // the folder
  absl::TimeZone zone = absl::LocalTimeZone();
  std::optional<Ns> start;  // of its first line, where no line says when it was printed
};

// All of it in one transaction; `entries` of the report are lines that say something, `other` the rest.
// InvalidArgument, with what to do: no such profile, no line it knows, or none that can be placed in time.
absl::StatusOr<FileImportReport> ImportLog(Database& db, const Input& input, const FileImportOptions& options,
                                           const LogImportOptions& log);

}  // namespace goodput
