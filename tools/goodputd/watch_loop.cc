#include "tools/goodputd/watch_loop.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "spank/clock.h"
#include "spank/spool.h"
#include "sql/text.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/look_cost.h"
#include "tools/goodputd/queue_watch.h"
#include "tools/sources/slurm/controller.h"

namespace goodput {
namespace {

// Queries take at most 1/50 of the controller's time; but even if it is slow, look again within minutes.
constexpr std::int64_t kCostFactor = 50;
constexpr std::int64_t kLongestWaitNs = 300LL * 1'000'000'000;

class WatchLoop {
 public:
  explicit WatchLoop(const Config& config) : config_(config), cluster_(config.cluster) {}

  // True: something changed.
  absl::StatusOr<int> Look() {
    if (!spool_.is_open()) {
      Spool::Config spool_config;
      spool_config.root = config_.spool;
      spool_config.node = kControllerFolder;
      spool_config.max_bytes = static_cast<std::uint64_t>(config_.spool_max);
      const std::string problem = spool_.Open(spool_config);
      if (!spool_.is_open()) return absl::UnavailableError(problem);
    }
    if (cluster_.empty()) cluster_ = SlurmController().ClusterName();
    if (cluster_.empty()) return absl::UnavailableError("the controller does not report its cluster's name");
    if (watch_ == nullptr)
      watch_ = std::make_unique<QueueWatch>(SlurmController(), spool_, kSystemClock, cluster_);
    return watch_->Poll();
  }
  void End() {
    if (watch_ != nullptr) watch_->End();
  }

 private:
  const Config& config_;
  std::string cluster_;
  Spool spool_;
  std::unique_ptr<QueueWatch> watch_;
};

}  // namespace

void RunWatchLoop(const Config& config, int stop_fd, Liveness& alive,
                  const std::function<void()>& on_change) {
  Complaint trouble;
  WatchLoop loop(config);
  const std::int64_t interval_ns = absl::ToInt64Nanoseconds(config.queue_interval);
  std::int64_t wait_ns = 0;
  LookCost<8> cost;
  pollfd stop{stop_fd, POLLIN, 0};
  while (poll(&stop, 1, static_cast<int>(wait_ns / 1'000'000)) == 0) {
    if (alive.standby) {
      wait_ns = interval_ns;
      continue;
    }
    // With the monotonic clock, which cannot be set.
    const std::int64_t begin = kSystemClock.mono_ns();
    const absl::StatusOr<int> changes = loop.Look();
    const std::int64_t took = kSystemClock.mono_ns() - begin;
    trouble.Say(changes.ok() ? "" : Message(changes.status()));
    if (changes.ok()) alive.looked_ns = kSystemClock.mono_ns();
    if (changes.ok() && *changes > 0) on_change();
    cost.Add(changes.ok(), took);
    wait_ns = std::max(interval_ns, std::min(kCostFactor * cost.ns(), kLongestWaitNs));
  }
  loop.End();
}

}  // namespace goodput
