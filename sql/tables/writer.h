// Selects the one daemon that may write to the database: its name is in the table `writer`, which
// Database::WriteAs checks in each transaction.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sql/database.h"

namespace goodput {

// Makes `writer` the only one whose transactions are accepted from now on, and makes `db` write as it. Waits
// for a running transaction; Unavailable if that takes too long.
absl::Status ClaimDatabase(Database& db, const std::string& writer, std::int64_t now_ns);

}  // namespace goodput
