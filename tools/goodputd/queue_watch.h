// Records what only the controller knows and soon forgets: why a job waits, when it is preempted, which node
// failed. Changes, and the periods of the watch, are appended as records to the spool's folder @controller.
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
  // Borrows its arguments; the spool is open on @controller.
  QueueWatch(Controller& controller, Spool& spool, Clock clock, std::string cluster);

  // Queries the controller once and records the changes. A job or node that has disappeared is recorded as
  // gone, unless the job had ended. Returns the number of recorded changes.
  absl::StatusOr<int> Poll();

  // Records the end of the watch; the next Poll begins a new one. Idempotent. A Poll that fails calls it.
  void End();

  // A watch that is killed does not record its end, so one of this many looks is recorded.
  static constexpr int kLooksBetweenRecords = 20;

 private:
  struct KnownJob {
    std::string text;  // last recorded text
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
  std::map<std::string, std::string> nodes_;  // last recorded text
  bool watching_ = false;
  int looks_ = 0;    // since the last recorded look
  Stamp last_look_;  // that succeeded
};

}  // namespace goodput
