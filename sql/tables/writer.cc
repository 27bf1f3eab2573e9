#include "sql/tables/writer.h"

#include "sql/status_macros.h"

namespace goodput {

absl::Status ClaimDatabase(Database& db, const std::string& writer, std::int64_t now_ns) {
  db.WriteAs("");
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  Statement claim = db.Prepare("INSERT OR REPLACE INTO writer (one, name, since_ns) VALUES (1, ?, ?)");
  claim.Bind(1, writer).Bind(2, now_ns);
  RETURN_IF_ERROR(claim.Run());
  RETURN_IF_ERROR(transaction.Commit());
  db.WriteAs(writer);
  return absl::OkStatus();
}

}  // namespace goodput
