// Of several daemons that were given one database, be it on two controllers, one fills it: the one that has
// its lock. The others wait, and one of them goes on where it ended.
#ifndef GOODPUT_TOOLS_BASE_DATABASE_LOCK_H_
#define GOODPUT_TOOLS_BASE_DATABASE_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace goodput {

class DatabaseLock {
 public:
  // Takes the lock of the database at `path`, a file `PATH.lock` beside it that says who has it, until this
  // object or the process ends, however it ends. Unavailable: another has it, and who. Never waits.
  static absl::StatusOr<DatabaseLock> Take(const std::string& path);
  // Who has the lock of the database now, "goodputd 4711 on ctl1"; empty: nobody.
  static std::string Holder(const std::string& path);

  DatabaseLock(DatabaseLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DatabaseLock& operator=(DatabaseLock&&) = delete;
  DatabaseLock(const DatabaseLock&) = delete;
  DatabaseLock& operator=(const DatabaseLock&) = delete;
  ~DatabaseLock();

 private:
  explicit DatabaseLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace goodput

#endif  // GOODPUT_TOOLS_BASE_DATABASE_LOCK_H_
