// Ingest of the shared spool in a process of its own, with a connection to the database of its own.
//
// Why all of ingest, and not only its reading: the folder may hang at any call, and whoever makes the call
// hangs with it. A process can be given up; SQLite lets several write, one after the other; and offset and
// rows go together, so that one killed at any moment has taken something once or not at all. It holds no lock
// while it reads (sql/ingest/ingest_batch.h). What is left of the controller's duties runs in the daemon
// itself.
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
// A pass that has not looked at all by then ends, and the next goes on.
inline constexpr std::int64_t kIngestPassNs = 2'000'000'000;
// The controller waits so much longer than the nodes, which compare with what is here before they remove.
inline constexpr std::int64_t kSharedKeptLongerS = 86400;

// What the helper is started with; it writes to the database as `writer` (Database::WriteAs).
std::vector<std::string> IngestHelperArguments(const Config& config, const std::string& writer);
// Asked for one pass over all but the folders named in the request, a line each.
HelperAnswers IngestHelper(const std::vector<std::string>& arguments);

std::string IngestRequest(const std::set<std::string>& avoid);
// What the helper says of its pass; an error is its.
absl::StatusOr<IngestReport> ParseIngestAnswer(std::string_view answer);

// One pass over the shared spool by this process, for who can wait.
absl::StatusOr<IngestReport> IngestShared(Database& db, const Config& config);

}  // namespace goodput
