// Whether this daemon is the one that writes to the database.
#pragma once

#include <mutex>
#include <string>

#include "tools/base/config.h"
#include "tools/base/database_lease.h"
#include "tools/goodputd/liveness.h"
#include "tools/goodputd/log.h"

namespace goodput {

// Keeps `alive.standby` up to date. Thread-safe.
class ActiveRole {
 public:
  ActiveRole(const Config& config, Liveness& alive);
  // Renews or requests the lease now. True: this daemon writes to the database. Also true if the lease file
  // is inaccessible (a full disk, a missing folder), since no other daemon could do better.
  bool Look();
  // Looks as often as the lease requires, until `stop_fd` becomes readable.
  void Run(int stop_fd);
  const std::string& writer() const { return lease_.writer(); }

 private:
  Liveness& alive_;
  std::mutex mutex_;
  DatabaseLease lease_;
  Complaint waiting_;
};

}  // namespace goodput
