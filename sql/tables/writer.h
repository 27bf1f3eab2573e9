// Who may fill the database, of several daemons that think they may: its table `writer` says so, and
// Database::WriteAs has each transaction look there.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sql/database.h"

namespace goodput {

// Makes `writer` the one whose transactions are taken from now on, and `db` write as it. Waits for a
// transaction that is on its way; Unavailable when that takes too long.
absl::Status ClaimDatabase(Database& db, const std::string& writer, std::int64_t now_ns);

}  // namespace goodput
