// Imports spans of OpenTelemetry (see otel/span_fold.h) into Slurm jobs or as a run of its own: what the
// console exporter prints, also between other output, and what OpenTelemetry's collector archives.
#pragma once

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/sources/import_export/file_import.h"
#include "tools/sources/import_export/input.h"

namespace goodput {

// A longer line: a collector writes a batch of some thousand spans as one.
inline constexpr std::size_t kMaxSpanLine = std::size_t{64} << 20U;

// Whether the beginning of a file looks like spans.
bool LooksLikeSpans(std::string_view beginning);

// Imports everything in one transaction; `entries` of the report are the spans that were read. Spans may be
// in any order: some fifty bytes a step are held. If the spans name jobs, those of other jobs than the given
// ones are skipped. InvalidArgument, with what to do: there is no span of training, or there are those of
// several jobs.
absl::StatusOr<FileImportReport> ImportSpans(Database& db, const Input& input,
                                             const FileImportOptions& options);

}  // namespace goodput
