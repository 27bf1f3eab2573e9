// Caches /metrics, which has to read every run. A result is served for a while, and longer while a new one is
// being computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "spank/clock.h"

namespace goodput {

class MetricsCache {
 public:
  using Compute = std::function<absl::StatusOr<std::string>()>;
  explicit MetricsCache(Clock clock = kSystemClock) : clock_(clock) {}

  // The text for this viewer; its counters never decrease (see NeverLower). At most as old as kFresh, or
  // kShare times its computing time; older while another thread computes it.
  absl::StatusOr<std::string> Get(const std::string& viewer, const Compute& compute);

 private:
  struct Entry {
    std::string text;
    bool have = false;
    bool computing = false;
    std::int64_t good_until_ns = 0;
  };
  Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
};

}  // namespace goodput
