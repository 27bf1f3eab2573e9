// Watches the checkpoint directories that jobs named, on the node of the job's first task.
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

// Turns the checkpoints seen in a directory into records: one for each begin and completion, once, and again
// if the same name is written again. Checkpoints that were complete before the job began on this node belong
// to another attempt.
class CheckpointNews {
 public:
  CheckpointNews(NodeJob job, StoreRecord store, Clock clock = kSystemClock)
      : job_(std::move(job)), store_(std::move(store)), clock_(clock) {}

  // The result of one look that began at `looked_ns`; `whole`: it is complete.
  void Take(const std::vector<CheckpointSeen>& found, bool whole = true, std::int64_t looked_ns = 0);
  // Which view of the job has the directory, or why it cannot be read: one record per change.
  void Saw(const std::string& view, const std::string& problem);

 private:
  struct Told {
    std::uint64_t id = 0;       // of the folder or file; 0: unknown
    std::int64_t begin_ns = 0;  // 0: not recorded
    bool complete = false;
    std::int64_t complete_ns = 0;
    std::int64_t written_ns = 0;   // time of the file that completed it
    std::int64_t reopened_ns = 0;  // it was complete, and then no longer
    std::uint64_t done_id = 0;     // the one of this name that was complete last; 0: none, or unknown
    std::int64_t done_written_ns = 0;
    std::uint64_t look = 0;  // the look in which it was last found
  };
  // Those that were last found in the earliest look, and not in this one.
  void ForgetOldest();
  void TakeComplete(const CheckpointSeen& seen, Told& told);
  // Nothing is known of the next one of its name.
  static Told Anew(const Told& before);
  static bool IsDone(const CheckpointSeen& seen, const Told& told);
  void TakeDone(const CheckpointSeen& seen, Told& told);
  // How much earlier than `t_ns` it may have begun: it was not there when somebody last looked.
  std::int64_t Earlier(const CheckpointSeen& seen, std::int64_t t_ns) const;
  void Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns);

  NodeJob job_;
  StoreRecord store_;
  Clock clock_;
  std::uint64_t looks_ = 0;
  std::int64_t looked_ns_ = 0;  // begin of the previous complete look; 0: none
  std::string view_;
  std::string problem_;
  std::map<std::string, Told> told_;  // by name
};

}  // namespace goodput
