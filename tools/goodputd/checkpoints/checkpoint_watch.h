// Watches the checkpoint directories that jobs on this node named: where the job's first task runs, and
// nowhere else.
#ifndef GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_CHECKPOINT_WATCH_H_
#define GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_CHECKPOINT_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spank/clock.h"
#include "tools/config/config.h"
#include "tools/goodputd/checkpoints/layout.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

// What of a directory's checkpoints is new: a record for each one's begin and for its completion, once.
// What was complete before the job began on this node is another attempt's.
class CheckpointNews {
 public:
  using Store = std::function<bool(const std::string& node, std::string_view record)>;
  CheckpointNews(NodeJob job, Store store, Clock clock = kSystemClock)
      : job_(std::move(job)), store_(std::move(store)), clock_(clock) {}

  void Take(const std::vector<CheckpointSeen>& found);

 private:
  void Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns);

  NodeJob job_;
  Store store_;
  Clock clock_;
  struct Told {
    std::int64_t begin_ns = 0;
    bool complete = false;
  };
  std::map<std::string, Told> told_;  // by name
};

// Looks every max(`config.checkpoint_scan`, 100 times as long as a look took), and once more when the job's
// tasks here are gone, until `stop_fd` becomes readable. Each directory has a thread and a child of its own:
// one that hangs holds up nobody.
void RunCheckpointWatch(const Config& config, int stop_fd);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_CHECKPOINTS_CHECKPOINT_WATCH_H_
