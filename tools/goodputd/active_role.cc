#include "tools/goodputd/active_role.h"

#include <poll.h>

#include <algorithm>

#include "spank/clock.h"
#include "sql/text.h"

namespace goodput {

ActiveRole::ActiveRole(const Config& config, Liveness& alive)
    : alive_(alive), lease_(config.database, config.database_lease) {
  Look();
}

bool ActiveRole::Look() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool was_standby = alive_.standby;
  const absl::Status status = lease_.Look(kSystemClock.mono_ns());
  const bool standby = absl::IsUnavailable(status);
  waiting_.Say(standby ? Message(status) : "");
  if (was_standby && !standby && !lease_.taken_from().empty()) {
    Log(Cat("took over the database from ", lease_.taken_from()));
  }
  alive_.standby = standby;
  return !standby;
}

void ActiveRole::Run(int stop_fd) {
  pollfd stop{stop_fd, POLLIN, 0};
  const auto interval_ms = static_cast<int>(absl::ToInt64Milliseconds(lease_.Interval()));
  // A standby daemon looks every second, so that it takes over at once on the same machine.
  constexpr int kStandbyMs = 1000;
  while (poll(&stop, 1, alive_.standby ? std::min(kStandbyMs, interval_ms) : interval_ms) == 0) Look();
}

}  // namespace goodput
