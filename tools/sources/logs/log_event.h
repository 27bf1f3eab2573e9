// The meaning of a line of a training program's output, common to all frameworks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput {

// A time in a line. Most frameworks print no time zone: it is then a wall-clock time.
struct LineTime {
  enum class Kind : std::uint8_t {
    kAbsolute,  // nanoseconds since the epoch
    kWall,      // the same, as if the wall clock were UTC
    kYearless,  // likewise, in the year 1972: glog prints no year
  };
  Kind kind = Kind::kAbsolute;
  std::int64_t ns = 0;
  // Of the last digit: the line was printed between this time and so much later.
  std::int64_t resolution_ns = 0;
};

struct LogEvent {
  enum class Kind : std::uint8_t {
    kStepEnd,        // `step` steps are done
    kStepBegin,      // step number `step` begins
    kTrainingBegin,  // the first step begins now; its number is `step` if given
    kSaveBegin,      // of a checkpoint of `step` steps
    kSaveEnd,        // it is complete
    kSave,           // both in one line: `began` and `took_ns`
    kSaveGoesOn,     // the save that seemed complete continues in the background
    kRestoreBegin,
    kRestoreEnd,
    kPhaseBegin,  // `name`
    kPhaseEnd,
    kStop,            // the program reports that it was told to stop
    kProgramBegin,    // the program starts again
    kProgramEnd,      // the program has completed its work
    kJobEnd,          // Slurm ends the job; `name` is the reason
    kCollectiveHost,  // the host `name` takes part in the collectives that are measured next
    kCollective,      // a collective of `bytes` was measured: `algbw`, `busbw`
    kEpochBegin,      // the lines that follow are in `epoch`
  };
  // What `step` is counted in, if not in the program's steps.
  enum class Within : std::uint8_t { kProgram, kEpoch, kEpochIfAny };
  Kind kind = Kind::kStepEnd;
  Within within = Within::kProgram;
  // Number of steps done, counted from 1, whatever the framework counts from.
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> of;         // number of steps this program will do, or of an epoch
  std::optional<std::int64_t> epoch;      // that begins, counted from 0
  std::optional<std::int64_t> step_ns;    // duration of each step that the line reports
  std::optional<std::int64_t> about_ns;   // approximate duration of a step
  std::optional<std::int64_t> took_ns;    // duration of what ended
  std::optional<std::int64_t> elapsed_s;  // on a progress bar's own clock, in whole seconds
  std::optional<LineTime> began;          // when it began
  std::optional<LineTime> time;           // of the line
  std::optional<std::int64_t> bytes;      // of a collective
  std::optional<std::int64_t> algbw;      // bytes per second: bytes divided by time,
  std::optional<std::int64_t> busbw;      // and the rate on the slowest link, as nccl-tests computes it
  std::optional<std::int64_t> task;       // in the line's label (lines.h)
  std::string name;
  bool epoch_begins = false;        // a bar at 0 of an epoch, which a resuming program draws too
  bool over_at_next_step = false;   // training waits for it, and its end is not printed
  bool told_at_next_step = false;   // of a line about a step: it follows the save after that step
  bool complete_is_untold = false;  // of a background save: its completion is not printed
  bool said_before = false;         // of a line about steps: another rank has said so (one_rank.h)
};

}  // namespace goodput
