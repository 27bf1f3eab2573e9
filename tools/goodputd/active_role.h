// Whether this daemon is the one that fills the database.
#pragma once

#include <mutex>
#include <string>

#include "tools/base/config.h"
#include "tools/base/database_lease.h"
#include "tools/goodputd/liveness.h"
#include "tools/goodputd/log.h"

namespace goodput {

// Keeps `alive.standby` as it is. Threads may share it.
class ActiveRole {
 public:
  ActiveRole(const Config& config, Liveness& alive);
  // Renews the lease or tries to have it, now. True: this daemon fills the database. So it does where the
  // lease cannot be had at all (a full disk, a folder that is missing): then nobody else could do better.
  bool Look();
  // Looks as often as the lease needs it, until `stop_fd` becomes readable.
  void Run(int stop_fd);
  const std::string& writer() const { return lease_.writer(); }

 private:
  Liveness& alive_;
  std::mutex mutex_;
  DatabaseLease lease_;
  Complaint waiting_;
};

}  // namespace goodput
