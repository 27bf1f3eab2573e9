// What only the controller knows and soon forgets: why a job waits, when it is preempted, which node failed.
// Changes go to the spool's folder @controller as records like any other.
#ifndef GOODPUT_TOOLS_GOODPUTD_QUEUE_WATCH_H_
#define GOODPUT_TOOLS_GOODPUTD_QUEUE_WATCH_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "spank/clock.h"
#include "spank/spool.h"
#include "tools/slurm/controller.h"

namespace goodput {

inline constexpr const char* kControllerFolder = "@controller";

class QueueWatch {
 public:
  // All borrowed; the spool is open on @controller.
  QueueWatch(Controller& controller, Spool& spool, Clock clock, std::string cluster);

  // Asks the controller once and records what changed since the last time. Returns how many records were
  // written.
  absl::StatusOr<int> Poll();

 private:
  Controller& controller_;
  Spool& spool_;
  Clock clock_;
  std::string cluster_;
  // What was last recorded, as text, by job and by node.
  std::map<std::int64_t, std::string> jobs_;
  std::map<std::string, std::string> nodes_;
};

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_QUEUE_WATCH_H_
