// One entry of the log that Google's goodput library and Orbax write: a JSON object, or a Cloud Logging
// LogEntry with such an object as its jsonPayload.
//
//   job_name + job_start_time | job_end_time | step_count, step_start_time
//            | tpu_init_start_time, tpu_init_end_time | training_prep_... | data_loading_...
//            | custom_badput_event_type, custom_badput_event_start_time, custom_badput_event_end_time
//   event_type "save", step, checkpoint_manager_blocking_start_time,
//   checkpoint_manager_blocking_duration_secs,
//            wait_for_prev_start_time, wait_for_prev_duration_secs, synchronous
//   event_type "restore" or "emergency_restore", step, checkpoint_manager_start_time,
//            checkpoint_manager_duration_secs
//   (Google's calculator also needs directory, checkpointer_..., wait_for_prev_... and get_old_steps_...)
//   of elastic runs (goodput_elastic.py):
//   elastic_wait_event_type, elastic_wait_start_time, elastic_wait_end_time
//            | elastic_reinit_start_time, elastic_reinit_end_time
//            | elastic_slice_counts_timestamp, active_slices, available_slices, total_slices
//
// Times are seconds since the epoch with any number of decimals, taken to the nanosecond. What this
// vocabulary has no word for is in one more object, `slurm_goodput`, which other readers ignore (see Ours).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Maximum length of an entry in Cloud Logging.
inline constexpr std::size_t kMaxEntryBytes = std::size_t{256} << 10U;

struct GoogleEntry {
  static constexpr Ns kEarliest = 946'684'800 * kSecond;  // 2000-01-01

  std::string_view job_name;  // views are valid until the next Parse
  std::optional<Ns> job_start;
  std::optional<Ns> job_end;

  std::optional<std::int64_t> step;
  Ns step_start = 0;

  struct Phase {
    std::string_view name;  // init, training_prep, data_loading, elastic_..., or a custom type
    std::optional<Ns> start;
    std::optional<Ns> end;
  };
  std::array<Phase, 6> phases;     // without a time: absent
  std::optional<Ns> slice_counts;  // when the slices of an elastic run were counted

  enum class Checkpoint : std::uint8_t { kNone, kSave, kRestore };
  Checkpoint checkpoint = Checkpoint::kNone;
  std::optional<std::int64_t> checkpoint_step;
  Ns checkpoint_start = 0;
  std::optional<Ns> checkpoint_end;  // of the part that blocked training
  std::optional<Ns> waited_until;    // the previous save was complete then
  bool asynchronous = false;

  // The additions of `sgoodput export`.
  struct Ours {
    bool any = false;
    std::string_view slurm_step;
    std::optional<std::int64_t> task;
    std::optional<Ns> srun_start;  // when the tasks of the Slurm step began
    std::optional<Ns> srun_end;    // when they ended
    std::optional<std::int64_t> exit_code;
    std::optional<std::int64_t> exit_signal;
    std::string_view state;      // Slurm's state of the attempt that ended
    std::optional<Ns> stop;      // when it was asked to stop
    std::optional<Ns> complete;  // when the checkpoint was complete
    std::optional<Ns> running;   // the attempt had not ended by then
    bool unfinished = false;     // the end of the checkpoint is not known, whatever its duration
  };
  Ours ours;

  // Adds `by` to all its times.
  void Delay(Ns by);
  // When it happened: its first time.
  Ns time() const;
  // False: before the year 2000, when this library did not exist, so the clock was not set.
  bool HasPlausibleTime() const { return time() >= kEarliest; }
  // For entries with the same time: the lower comes first.
  int order() const { return job_end ? 0 : job_start ? 1 : 2; }
};

class GoogleEntryParser {
 public:
  // Number of bytes after the text that must be readable, whatever they contain.
  static constexpr std::size_t kPadding = 64;

  GoogleEntryParser();
  ~GoogleEntryParser();
  // False: a JSON object without any of these fields. An error says in a few words what is wrong. Do not
  // modify `entry` between calls.
  absl::StatusOr<bool> Parse(std::string_view text, GoogleEntry& entry);
  // The same without the fast path of step_entry.h.
  absl::StatusOr<bool> ParseJson(std::string_view text, GoogleEntry& entry);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput
