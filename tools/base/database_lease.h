// Of several daemons that were given one database, be it on two controllers, one fills it. It holds a lease:
// the file `DATABASE.lock` names it and a number that it changes as long as it lives. The others watch the
// number and one of them goes on where the holder ended. That a holder is only slow or stopped cannot be
// known here; what it still writes is refused by the database itself (sql/tables/writer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace goodput {

// What the file says.
struct LeaseSign {
  std::string holder;  // "goodputd 4711 on ctl1"
  std::string host;
  std::string boot;   // the kernel's boot id; empty: not known
  std::string nonce;  // another for each process
  std::int64_t count = 0;
  std::int64_t lease_ms = 0;  // 0: written by a release that had no lease

  std::string Text() const;
};
// Nothing for a file that is empty or says something else.
std::optional<LeaseSign> ParseLeaseSign(std::string_view text);

class DatabaseLease {
 public:
  struct Self {
    std::string host;
    std::string boot;
    std::int64_t pid = 0;
    std::string nonce;
  };
  // This process, with a nonce of its own.
  static Self ThisProcess();

  DatabaseLease(const std::string& database, absl::Duration lease, Self self = ThisProcess());
  DatabaseLease(const DatabaseLease&) = delete;
  DatabaseLease& operator=(const DatabaseLease&) = delete;
  // Gives the lease back, so that another need not wait.
  ~DatabaseLease();

  // One look, to be repeated every Interval(); `now_ns` by a clock that nobody sets. OK: this process holds
  // the lease and has just renewed it. Unavailable: another holds it, or may, and who. Any other error: the
  // file cannot be had, and nothing is known of another. Waits only as long as the file system does.
  absl::Status Look(std::int64_t now_ns);
  absl::Duration Interval() const { return lease_ / 4; }
  // By which the database knows this process.
  const std::string& writer() const { return writer_; }
  // Whom it took the lease from without that one having given it back; empty: nobody.
  const std::string& taken_from() const { return taken_from_; }

 private:
  absl::Status Contend(int fd, std::int64_t now_ns);
  absl::Status Standby(const LeaseSign& of) const;
  absl::Status Write(int fd);
  bool Locked();

  const std::string database_;
  const std::string path_;
  const absl::Duration lease_;
  const Self self_;
  const std::string writer_;
  LeaseSign mine_;
  int lock_fd_ = -1;  // has the kernel's lock
  bool held_ = false;
  bool confirming_ = false;  // wrote its own sign and looks again whether it stayed
  std::string seen_;         // another's sign
  std::int64_t seen_since_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  std::string taken_from_;
};

// What people may know of a database's holder.
struct LeaseState {
  std::string holder;                           // empty: nobody
  bool elsewhere = false;                       // on another machine than this
  absl::Duration age = absl::ZeroDuration();    // of its last sign, by the file's time
  absl::Duration lease = absl::ZeroDuration();  // zero: its release has none
};
LeaseState LeaseOf(const std::string& database);

}  // namespace goodput
