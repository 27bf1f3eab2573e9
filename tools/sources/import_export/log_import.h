// Imports a framework's output with a log profile, into Slurm jobs or as a run of its own.
//
// A line's time is its own, or the one that a program that forwarded the line put in front; a wall-clock time
// is in the given zone, and a missing year is taken from the file. Lines without a time are placed between
// those that have one, by the step durations that they print; the states of a progress bar by its elapsed
// time. If no line has a time, the log begins when the caller says, or ends with the job to which it is
// added, or when the file was last written. Of several progress bars, only the training's counts.
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
  std::optional<Ns> start;  // time of the first line, if no line has a time
};

// Imports everything in one transaction; `entries` of the report are matched lines, `other` the rest.
// InvalidArgument, with what to do: an unknown profile, or no line that it matches or that can be placed in
// time.
absl::StatusOr<FileImportReport> ImportLog(Database& db, const Input& input, const FileImportOptions& options,
                                           const LogImportOptions& log);

}  // namespace goodput
