// Which user owns which job on which node, from the plugin's records in the spool, which only root can write.
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
    std::string first_node;  // for marks that name no node
    std::map<std::string, bool> nodes;
  };
  // Reads new spool records if the job is unknown, or does not belong to the user who asks. Since reading
  // costs much more than a query, a user who asks for unknown or foreign jobs causes it only at a limited
  // rate; other users are not affected. Valid until the next call.
  const Job* Find(std::int64_t job, uid_t asking);

  // How long an unknown job is not looked up again, and for how many jobs.
  static constexpr std::int64_t kUnknownForNs = 1'000'000'000;
  static constexpr std::size_t kMaxUnknown = 64;

 private:
  bool MayLook(std::int64_t job, uid_t asking);
  void Refresh();
  void TakeLine(const std::string& node, std::string_view line);

  SpoolTail tail_;
  Clock clock_;
  std::map<std::int64_t, Job> jobs_;
  // By user: unknown jobs, and until when not to look again.
  std::map<uid_t, std::map<std::int64_t, std::int64_t>> unknown_;
};

}  // namespace goodput
