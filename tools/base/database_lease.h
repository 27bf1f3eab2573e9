// The lease that decides which of several daemons, possibly on two controllers, writes to a database. The
// file `DATABASE.lock` names the holder and has a number that the holder keeps changing. The others watch the
// number, and one of them takes over when it stops. Whether a holder is only slow or stopped cannot be known
// here; the database itself refuses what such a holder still writes (sql/tables/writer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace goodput {

// The contents of the file.
struct LeaseSign {
  std::string holder;  // "goodputd 4711 on ctl1"
  std::string host;
  std::string boot;   // the kernel's boot id; empty: not known
  std::string nonce;  // different for each process
  std::int64_t count = 0;
  std::int64_t lease_ms = 0;  // 0: written by a release without leases

  std::string Text() const;
};
// Empty for a file that is empty or malformed.
std::optional<LeaseSign> ParseLeaseSign(std::string_view text);

class DatabaseLease {
 public:
  struct Self {
    std::string host;
    std::string boot;
    std::int64_t pid = 0;
    std::string nonce;
  };
  // This process, with a fresh nonce.
  static Self ThisProcess();

  DatabaseLease(const std::string& database, absl::Duration lease, Self self = ThisProcess());
  DatabaseLease(const DatabaseLease&) = delete;
  DatabaseLease& operator=(const DatabaseLease&) = delete;
  // Releases the lease, so that another daemon need not wait.
  ~DatabaseLease();

  // One look, to be repeated every Interval(); `now_ns` is from a monotonic clock. OK: this process holds the
  // lease and has just renewed it. Unavailable: another daemon holds it, or may hold it; the message names
  // it. Any other error: the file is not accessible, and nothing is known about other daemons. Waits only for
  // the file system.
  absl::Status Look(std::int64_t now_ns);
  absl::Duration Interval() const { return lease_ / 4; }
  // The name of this process in the database's table `writer`.
  const std::string& writer() const { return writer_; }
  // The holder from which the lease was taken without having been released; empty: none.
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
  int lock_fd_ = -1;  // the descriptor with the kernel's lock
  bool held_ = false;
  bool confirming_ = false;  // wrote its own entry and checks at the next look that it is still there
  std::string seen_;         // the other holder's entry
  std::int64_t seen_since_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  std::string taken_from_;
};

// The holder of a database, for display.
struct LeaseState {
  std::string holder;                           // empty: none
  bool elsewhere = false;                       // on another machine
  absl::Duration age = absl::ZeroDuration();    // since its last renewal, by the file's time
  absl::Duration lease = absl::ZeroDuration();  // zero: its release has no leases
};
LeaseState LeaseOf(const std::string& database);

}  // namespace goodput
