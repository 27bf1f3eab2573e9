// Turns the entries of a log, by time, into a run: its attempts, steps, saves and phases. The log names
// neither rank nor process, several processes write to it, and a process that dies writes no end. These rules
// decide:
//
// - `job_start_time` begins an attempt, unless the current one began less than three seconds before (ten, if
//   the log is known to have several writers) and has no step: then it is another process of the same start.
//   Without one, the first entry begins it.
// - The last `job_end_time` ends it. Without one, it had ended at the latest one usual step after the begin
//   of the last step, or with its last entry; its end is then not known.
// - A step number that is repeated, or that lags by hardly more than a step, comes from another writer and is
//   ignored. Any other lower number means that the program was restarted.
// - If several processes report a phase, the first begin and the last end count.
// - A save or a restore is one entry with both its ends; overlapping ones come from different writers.
//
// Entries that sgoodput exported name their task, so these rules are not needed for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/sources/logs/google_entry.h"
#include "tools/sources/logs/log_sink.h"
#include "tools/sources/logs/running_median.h"

namespace goodput {

class GoogleFold {
 public:
  explicit GoogleFold(LogSink& sink) : sink_(sink) {}
  // `entry.time()` must not be before that of the previous entry. Entries do not overlap.
  absl::Status Take(const GoogleEntry& entry, std::int64_t offset);
  absl::Status Finish();
  std::int64_t repeated_steps() const { return repeated_; }

 private:
  // A phase whose begin was seen.
  struct OpenPhase {
    int writers = 0;
    std::optional<Ns> last_end;
    std::int64_t end_offset = 0;
  };
  // A writer of saves or restores; each has one at a time.
  struct Lane {
    Ns busy_until = 0;
  };
  struct Save {
    LogMark end;
    std::int64_t task = 0;
    std::string slurm_step;
    std::int64_t offset = 0;
  };
  struct Attempt {
    Attempt();

    LogAttempt told;
    Ns last_told = 0;
    bool has_step = false;
    bool running = false;  // when it was last seen
    std::int64_t last_step = 0;
    Ns last_step_t = 0;
    Ns blocked = 0;     // since then, by saves and phases
    UsualTime records;  // time from one step entry to the next
    Ns usual = 0;       // their median, once there are usual_of
    std::int64_t usual_of = 0;
    std::map<std::string, OpenPhase, std::less<>> phases;
    std::map<std::string, Ns, std::less<>> phase_begins;  // of those that have not ended
    std::vector<Lane> saves;
    std::vector<Lane> restores;
    std::vector<Lane> spans;         // phases that are one entry
    std::optional<Save> unfinished;  // asynchronous: known to be complete once the next save begins
  };

  absl::Status TakeStep(const GoogleEntry& entry, std::int64_t offset);
  absl::Status TakePhase(const GoogleEntry& entry, const GoogleEntry::Phase& phase);
  absl::Status TakeCheckpoint(const GoogleEntry& entry);
  absl::Status TakeSrun(const GoogleEntry& entry);
  void TakeEnd(const GoogleEntry& entry);
  absl::Status Begin(Ns t, std::int64_t offset, std::optional<Ns> job_start);
  absl::Status End(std::optional<Ns> next);
  absl::Status EndPhases();
  bool IsAnotherWriters(std::int64_t step, Ns t);
  Ns UsualRecord();
  Speaker SpeakerOf(const GoogleEntry& entry) const;
  static std::int64_t TakeLane(std::vector<Lane>& lanes, Ns begin, Ns end);

  LogSink& sink_;
  std::optional<Attempt> attempt_;
  int next_attempt_ = 0;
  bool names_tasks_ = false;  // sgoodput exported the log
  std::int64_t repeated_ = 0;
  std::int64_t next_offset_ = 0;  // for the marks of an entry: an entry is longer than its number of marks
  std::optional<std::int64_t> usual_record_;  // of the previous attempts
  // The last steps, to recognize late entries.
  static constexpr std::size_t kRemembered = 64;
  std::array<std::pair<std::int64_t, Ns>, kRemembered> recent_{};  // step, begin
  std::size_t recent_count_ = 0;
};

}  // namespace goodput
