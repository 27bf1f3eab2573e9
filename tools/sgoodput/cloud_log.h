// Logs in Cloud Logging.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sgoodput/cloud_program.h"
#include "tools/sgoodput/options.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// The entries of options.cloud_log, one per line; with options.keep also those that the file had. An error
// without a message: the other process has printed it.
absl::StatusOr<Input> ReadCloudEntries(const ImportOptions& options);

// Writes what `write_log` gives, the log of a run. Returns the exit status, after any message.
int WriteCloudEntries(const ExportOptions& options, const std::string& cluster,
                      const std::function<absl::Status(const WriteToProgram&)>& write_log);

// Prints whether the log can be read and written, and how to fix it. Returns the exit status.
int CheckCloudLog(const std::string& log);

}  // namespace goodput
