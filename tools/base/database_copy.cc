#include "tools/base/database_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "sql/database.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "goodput-";
constexpr const char* kSuffix = ".db";
constexpr const char* kUnfinished = ".new";
constexpr const char* kTimeFormat = "%E4Y%m%dT%H%M%SZ";

// Removes files of interrupted copies.
void RemoveUnfinished(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, kPrefix) && absl::StrContains(name, Cat(kSuffix, kUnfinished)))
      left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path, error);
}

absl::Status BringToDisk(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return done ? absl::OkStatus() : absl::InternalError(Cat(path, ": ", std::strerror(error)));
}

}  // namespace

std::vector<DatabaseCopy> CopiesIn(const std::string& folder) {
  std::vector<DatabaseCopy> copies;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!absl::StartsWith(name, kPrefix) || !absl::EndsWith(name, kSuffix)) continue;
    const std::size_t prefix = std::strlen(kPrefix);
    const std::string written = name.substr(prefix, name.size() - prefix - std::strlen(kSuffix));
    absl::Time made;
    if (absl::ParseTime(kTimeFormat, written, absl::UTCTimeZone(), &made, nullptr))
      copies.push_back({entry.path(), made});
  }
  std::sort(copies.begin(), copies.end(),
            [](const DatabaseCopy& a, const DatabaseCopy& b) { return a.made < b.made; });
  return copies;
}

absl::StatusOr<std::string> CopyDatabase(const std::string& database, const std::string& folder,
                                         absl::Time now) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return absl::PermissionDeniedError(Cat(folder, ": ", error.message()));
  ASSIGN_OR_RETURN(Database db, Database::Open(database, Database::Mode::kReadOnly));
  const std::string name =
      Cat(folder, "/", kPrefix, absl::FormatTime(kTimeFormat, now, absl::UTCTimeZone()), kSuffix);
  const std::string unfinished = name + kUnfinished;
  RemoveUnfinished(folder);
  Statement copy = db.Prepare("VACUUM INTO ?1");
  copy.Bind(1, unfinished);
  absl::Status status = copy.Run();
  if (status.ok() && chmod(unfinished.c_str(), 0640) != 0)
    status = absl::InternalError(Cat(unfinished, ": ", std::strerror(errno)));
  if (status.ok()) status = BringToDisk(unfinished);
  if (status.ok() && rename(unfinished.c_str(), name.c_str()) != 0)
    status = absl::InternalError(Cat(name, ": ", std::strerror(errno)));
  if (!status.ok()) {
    fs::remove(unfinished, error);
    return Annotate(status, Cat("copying the database to ", folder));
  }
  std::vector<DatabaseCopy> copies = CopiesIn(folder);
  for (std::size_t i = 0; i + kCopiesKept < copies.size(); ++i) fs::remove(copies[i].path, error);
  return name;
}

}  // namespace goodput
