// Ingests the shared spool in its own process, with its own connection to the database.
//
// Why all of ingest and not only the reading: the folder may hang at any call, and the caller with it. A
// process can be abandoned; SQLite serializes several writers; and offset and rows are stored together, so a
// process killed at any moment has ingested data once or not at all. It holds no lock while it reads
// (sql/ingest/ingest_batch.h). The controller's other duties run in the daemon itself.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/ingest/ingest.h"
#include "tools/base/config.h"
#include "tools/base/helper_process.h"

namespace goodput {

inline constexpr const char* kIngestHelper = "ingest";
// A pass that takes longer ends, and the next one continues.
inline constexpr std::int64_t kIngestPassNs = 2'000'000'000;
// The controller keeps files this much longer than the nodes, which compare with the copy before they remove
// a file.
inline constexpr std::int64_t kSharedKeptLongerS = 86400;

// The arguments of the helper, which writes to the database as `writer` (Database::WriteAs).
std::vector<std::string> IngestHelperArguments(const Config& config, const std::string& writer);
// A request is one pass over all folders except those named in the request, one per line.
HelperAnswers IngestHelper(const std::vector<std::string>& arguments);

std::string IngestRequest(const std::set<std::string>& avoid);
// The result of a pass; an error is the helper's.
absl::StatusOr<IngestReport> ParseIngestAnswer(std::string_view answer);

// One pass over the shared spool in this process, if blocking is acceptable.
absl::StatusOr<IngestReport> IngestShared(Database& db, const Config& config);

}  // namespace goodput
