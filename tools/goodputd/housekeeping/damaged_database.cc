#include "tools/goodputd/housekeeping/damaged_database.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sql/database.h"
#include "sql/text.h"
#include "tools/base/database_copy.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<std::string> DamageOf(const std::string& path) {
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadOnly);
  if (absl::IsDataLoss(db.status())) return Message(db.status());
  if (!db.ok()) return db.status();
  Statement check = db->Prepare("PRAGMA quick_check(1)");
  const std::string answer = check.Step() ? check.Text(0) : "";
  if (absl::IsDataLoss(check.status())) return Message(check.status());
  if (!check.status().ok()) return check.status();
  return answer == "ok" ? std::string() : answer;
}

absl::StatusOr<std::string> ReplaceDamaged(const std::string& path, const std::string& copies,
                                           absl::Time now) {
  const std::string aside =
      Cat(path, ".damaged-", absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone()));
  // The database last: while it exists, another process may open it and needs its log.
  for (const char* suffix : {"-wal", "-shm", ""}) {
    if (std::rename(Cat(path, suffix).c_str(), Cat(aside, suffix).c_str()) != 0 && errno != ENOENT)
      return absl::InternalError(Cat("cannot rename ", path, suffix, ": ", std::strerror(errno)));
  }
  std::string done = Cat("the damaged database was moved to ", aside);
  if (copies.empty()) return done + "; a new one replaces it";
  std::vector<DatabaseCopy> found = CopiesIn(copies);
  for (auto copy = found.rbegin(); copy != found.rend(); ++copy) {
    const absl::StatusOr<std::string> damage = DamageOf(copy->path);
    if (!damage.ok() || !damage->empty()) continue;
    std::error_code error;
    const std::string unfinished = path + ".new";
    fs::copy_file(copy->path, unfinished, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(unfinished, path, error);
    if (!error) return Cat(done, "; the copy ", copy->path, " replaces it");
    done += Cat("; the copy ", copy->path, " could not be restored: ", error.message());
    fs::remove(unfinished, error);
  }
  return done + "; no good copy was found, so a new one replaces it";
}

}  // namespace goodput
