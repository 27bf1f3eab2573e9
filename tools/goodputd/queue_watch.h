// What only the controller knows and soon forgets: why a job waits, when it is preempted, which node failed.
// Changes go to the spool's folder @controller as records like any other, and from when to when it looked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "spank/event.h"
#include "spank/spool.h"
#include "tools/sources/slurm/controller.h"

namespace goodput {

inline constexpr const char* kControllerFolder = "@controller";

class QueueWatch {
 public:
  // All borrowed; the spool is open on @controller.
  QueueWatch(Controller& controller, Spool& spool, Clock clock, std::string cluster);

  // Asks the controller once and records what changed since the last time; what is no longer there is gone,
  // unless it was a job that was over. Returns how many changes were recorded.
  absl::StatusOr<int> Poll();

  // Records until when it looked; the next Poll begins anew. Idempotent. A Poll that fails does so itself.
  void End();

  // A watch that is killed records no end: among so many looks, one is always recorded.
  static constexpr int kLooksBetweenRecords = 20;

 private:
  struct KnownJob {
    std::string text;  // what was last recorded
    std::optional<std::int64_t> submit_s;
    bool over = false;
  };

  void RecordWatch(const char* edge);
  int RecordGone(std::map<std::int64_t, KnownJob>& still_jobs,
                 std::map<std::string, std::string>& still_nodes);
  Controller& controller_;
  Spool& spool_;
  Clock clock_;
  std::string cluster_;
  std::map<std::int64_t, KnownJob> jobs_;
  std::map<std::string, std::string> nodes_;  // what was last recorded
  bool watching_ = false;
  int looks_ = 0;    // since the last record of them
  Stamp last_look_;  // that succeeded
};

}  // namespace goodput
