// Records what is new in a job's checkpoint directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spank/clock.h"
#include "spank/event.h"
#include "tools/goodputd/checkpoints/layout.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {

// What of a directory's checkpoints is new: a record for each one's begin and for its completion, once, and
// again when the same name is written again. What was complete before the job began on this node is another
// attempt's.
class CheckpointNews {
 public:
  CheckpointNews(NodeJob job, StoreRecord store, Clock clock = kSystemClock)
      : job_(std::move(job)), store_(std::move(store)), clock_(clock) {}

  // What was found in one look that began at `looked_ns`; `whole`: that was all.
  void Take(const std::vector<CheckpointSeen>& found, bool whole = true, std::int64_t looked_ns = 0);
  // Who of the job sees the directory, or why it cannot be looked into: a record each time that changes.
  void Saw(const std::string& view, const std::string& problem);

 private:
  struct Told {
    std::uint64_t id = 0;       // of the folder or file; 0: not known yet
    std::int64_t begin_ns = 0;  // 0: not told
    bool complete = false;
    std::int64_t complete_ns = 0;
    std::int64_t written_ns = 0;   // what completed it
    std::int64_t reopened_ns = 0;  // it was complete, and then not any more
    std::uint64_t look = 0;        // it was last found in that one
  };
  void TakeComplete(const CheckpointSeen& seen, Told& told);
  // How much earlier than `t_ns` it may have begun: it was not there when somebody last looked.
  std::int64_t Earlier(const CheckpointSeen& seen, std::int64_t t_ns) const;
  void Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns);

  NodeJob job_;
  StoreRecord store_;
  Clock clock_;
  std::uint64_t looks_ = 0;
  std::int64_t looked_ns_ = 0;  // at all of it, before this look; 0: not yet
  std::string view_;
  std::string problem_;
  std::map<std::string, Told> told_;  // by name
};

}  // namespace goodput
