// When each job on this node last gave a sign of progress: a mark, or a line of output that a log profile
// knows. Thread-safe. After a restart of goodputd, a job is known again from its next sign on.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace goodput {

class JobProgress {
 public:
  using Job = std::pair<std::string, std::int64_t>;  // node and job
  // `mono_ns`: CLOCK_MONOTONIC.
  void Note(const Job& job, bool is_step, std::int64_t mono_ns);

  struct Quiet {
    std::int64_t last_mono_ns = 0;  // the last sign
    std::int64_t usual_ns = 0;      // the longest time between two of the last signs
  };
  // Absent: it has reported no step.
  std::optional<Quiet> Of(const Job& job) const;
  // Forgets the jobs that are not among these.
  void KeepOnly(const std::set<Job>& jobs);

 private:
  // Signs of which the times between are remembered.
  static constexpr std::size_t kSigns = 32;
  struct Signs {
    bool steps = false;
    std::int64_t last_mono_ns = 0;
    std::array<std::int64_t, kSigns> gaps_ns{};
    std::size_t next = 0;
  };
  mutable std::mutex mutex_;
  std::map<Job, Signs> jobs_;
};

}  // namespace goodput
