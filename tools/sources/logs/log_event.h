// What a line of a training program's output says, in words that all frameworks share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput {

// A time that a line carries. Most frameworks print none of a zone: then it is that of some clock on a wall.
struct LineTime {
  enum class Kind : std::uint8_t {
    kAbsolute,  // nanoseconds since the epoch
    kWall,      // the same, had the clock on the wall been one of UTC
    kYearless,  // likewise, of the year 1972: glog prints none
  };
  Kind kind = Kind::kAbsolute;
  std::int64_t ns = 0;
  // Of the last digit: the line is of a moment from then until so much later.
  std::int64_t resolution_ns = 0;
};

struct LogEvent {
  enum class Kind : std::uint8_t {
    kStepEnd,        // `step` steps are done
    kStepBegin,      // step number `step` begins
    kTrainingBegin,  // the first step begins now, number `step` where told
    kSaveBegin,      // of a checkpoint of `step` steps
    kSaveEnd,        // it is complete
    kSave,           // both, in one line: `began` and `took_ns`
    kSaveGoesOn,     // the save that seemed to be over goes on behind the loop
    kRestoreBegin,
    kRestoreEnd,
    kPhaseBegin,  // `name`
    kPhaseEnd,
    kStop,          // the program says that it was told to stop
    kProgramBegin,  // a new start of it
    kProgramEnd,    // it has done what it was to do
    kJobEnd,        // Slurm ends the job; `name` says why
    kCollective,    // a collective of `bytes` was measured: `algbw`, `busbw`
  };
  Kind kind = Kind::kStepEnd;
  // Counted from 1: number of steps done, whatever the framework counts from.
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> of;         // steps this program will do
  std::optional<std::int64_t> step_ns;    // what each step took that the line is about
  std::optional<std::int64_t> about_ns;   // what a step took, more or less
  std::optional<std::int64_t> took_ns;    // what ended took
  std::optional<std::int64_t> elapsed_s;  // on a progress bar's own clock, in whole seconds
  std::optional<LineTime> began;          // when it began
  std::optional<LineTime> time;           // of the line
  std::optional<std::int64_t> bytes;      // of a collective
  std::optional<std::int64_t> algbw;      // bytes a second: bytes over time,
  std::optional<std::int64_t> busbw;      // and that on the slowest link, as nccl-tests computes it
  std::string name;
  bool epoch_begins = false;       // a bar that stands at 0 of an epoch: a program that resumes draws it, too
  bool over_at_next_step = false;  // of what the loop waits for, and whose end is not told
  bool told_at_next_step = false;  // of a line of steps: it comes behind the save that follows them
  bool complete_is_untold = false;  // of a save that goes on behind the loop: it is not known to be complete
};

}  // namespace goodput
