// How much goodputd records about one job, so that no user fills the node's spool for the others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "spank/clock.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

// Two limits, both in bytes of records:
//   - a job has a budget that grows at a constant rate up to a maximum;
//   - an hour's room on a node is what its spool had left when the hour began. Once half of it is used, a
//   user
//     may have no more than an equal share of the other half, counting the users who recorded something in
//     that hour. Files that are removed meanwhile make more room, up to `spool_bytes`.
// Threads may share it.
class RecordQuota {
 public:
  struct Limits {
    // About 140 marks a second: 8 ranks that each report 8 steps a second stay below it.
    std::uint64_t job_bytes_per_minute = std::uint64_t{2} << 20U;
    std::uint64_t job_burst_bytes = std::uint64_t{32} << 20U;
    std::uint64_t spool_bytes = std::uint64_t{192} << 20U;  // on each node
  };
  explicit RecordQuota(Limits limits, Clock clock = kSystemClock) : limits_(limits), clock_(clock) {}

  // Whether a record of so many bytes may be stored. Counts it, or counts that it may not. `held`, the bytes
  // in the spool of the job's node, is asked at the first record of an hour and then every ten seconds.
  bool Allow(const NodeJob& job, std::uint64_t bytes, absl::FunctionRef<std::uint64_t()> held);
  // A record that was allowed could not be stored.
  void NotStored(const NodeJob& job);

  struct Refused {
    NodeJob job;
    std::uint64_t records = 0;
  };
  // The jobs of which records were refused or not stored since the last call.
  std::vector<Refused> TakeRefused();
  // They are taken again by the next call.
  void PutBack(const Refused& refused);

 private:
  using Key = std::pair<std::string, std::int64_t>;  // node, job
  struct Budget {
    double left = 0;
    std::int64_t at_ns = 0;  // CLOCK_MONOTONIC
  };
  // An hour of CLOCK_REALTIME, as the files of the spool are, on one node.
  struct Hour {
    std::int64_t number = -1;
    std::uint64_t room = 0;
    std::uint64_t used = 0;
    std::map<uid_t, std::uint64_t> used_by;
    std::int64_t looked_ns = 0;  // at `held`; CLOCK_MONOTONIC
  };
  bool HasBudget(const NodeJob& job, std::uint64_t bytes);
  Hour& ThisHour(const std::string& node, absl::FunctionRef<std::uint64_t()> held);
  static bool HasShare(const Hour& hour, uid_t uid, std::uint64_t bytes);
  void ForgetIdle(std::int64_t now_ns);

  const Limits limits_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<Key, Budget> budgets_;
  std::map<Key, Refused> refused_;
  std::map<std::string, Hour> hours_;  // by node
};

}  // namespace goodput
