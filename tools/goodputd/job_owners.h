// Which user owns which job on which node, from what the plugin wrote to the spool: only root can write
// there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "spank/clock.h"
#include "tools/goodputd/spool_tail.h"

namespace goodput {

class JobOwners {
 public:
  explicit JobOwners(std::string spool_root, Clock clock = kSystemClock)
      : tail_(std::move(spool_root)), clock_(clock) {}

  struct Job {
    uid_t uid = 0;
    std::string cluster;
    std::string first_node;  // where a mark goes that names no node
    std::map<std::string, bool> nodes;
  };
  // Looks at what the spool gained when the job is not known yet, or not as the asking user's; for a user who
  // asks for jobs that are not there or not theirs only so often, as the look costs much more than the
  // question. What one user asks does not change what another hears. Valid until the next call.
  const Job* Find(std::int64_t job, uid_t asking);

  // For so long a job that was not there is not looked for again, and of so many.
  static constexpr std::int64_t kUnknownForNs = 1'000'000'000;
  static constexpr std::size_t kMaxUnknown = 64;

 private:
  bool MayLook(std::int64_t job, uid_t asking);
  void Refresh();
  void TakeLine(const std::string& node, std::string_view line);

  SpoolTail tail_;
  Clock clock_;
  std::map<std::int64_t, Job> jobs_;
  // By who asked for it: until when.
  std::map<uid_t, std::map<std::int64_t, std::int64_t>> unknown_;
};

}  // namespace goodput
