// Records faulty hardware for each job on this node, and for each job that its node's kernel log is read:
// without that, a job without errors may have had some.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "spank/clock.h"
#include "tools/goodputd/kernel/hardware_fold.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {

// The notice of a record of kind `host` that says so, and its value.
inline constexpr std::string_view kKernelLogNotice = "kernel_log";
inline constexpr std::string_view kKernelLogRead = "read";

class HardwareRecorder {
 public:
  explicit HardwareRecorder(StoreRecord store, Clock clock = kSystemClock)
      : store_(std::move(store)), clock_(clock) {}

  // `jobs` must have read the spool to its end. Jobs that began later than the event are not told.
  void Record(const HardwareEvent& event, const NodeJobs& jobs);
  // Once for each job; a restart of the daemon repeats nothing.
  void SayRead(const NodeJobs& jobs);

  std::uint64_t stored() const { return stored_; }
  std::uint64_t not_stored() const { return not_stored_; }

 private:
  using Job = std::tuple<std::string, std::int64_t, std::int64_t>;  // node, job, its first record

  StoreRecord store_;
  Clock clock_;
  std::set<Job> told_;  // a record that could not be stored is not retried
  std::uint64_t stored_ = 0;
  std::uint64_t not_stored_ = 0;
};

}  // namespace goodput
