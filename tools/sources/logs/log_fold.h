// From what the lines of a program's output say, by time, to the marks it would have sent: which step began
// when, which saves and phases there were, and where the program was started anew. The same for a log that is
// followed while it grows and for one that is read afterwards.
//
// - A line that says that step N is done tells of all steps since the line before. They began when the steps
//   before were done, or, where the line says what each took, so long before it was printed: the time between
//   is then overhead (`between_steps`).
// - The first such line of a start tells of the steps since the one it was resumed from, or since the
//   training's begin, where a line said so; else of as many as the next line does, and each took as long.
// - A number that was told already, a moment ago, is another rank's and says nothing new. Any other lower
//   number, and any at all behind a line that says the program begins, is the program started again.
// - A line whose time is known only roughly comes when its steps were done, as far as that can be: by the
//   durations it prints, or by the pace of the lines before.
// - Of saves and phases that several ranks tell of, the first begin counts and the last end.
// - A save of which some releases print an end and others none was over when the loop went on, if by the next
//   save, or by the program's end, none was printed.
// - A framework that prints a step's line behind the save that follows it (told_at_next_step) tells with the
//   save when the step was done.
// - Slurm's word that it ends the job is no end of the program: that lives on until it is killed, and what it
//   prints till then is of the same start. Whatever comes behind a silence after it is the next one's.
// - What was going on when the program ended is told by no line. Where it lived on for more than half of what
//   a line's steps take, it was in the next step.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/sources/logs/log_event.h"
#include "tools/sources/logs/log_sink.h"
#include "tools/sources/logs/running_median.h"

namespace goodput {

class LogFold {
 public:
  explicit LogFold(LogSink& sink) : sink_(sink) {}

  // `began`: of the event's own word for it, by the same clock as `t`. `offset`: of the line; a line has more
  // bytes than it makes marks. `late`: it may have been printed so long before `t`.
  absl::Status Take(const LogEvent& event, Ns t, std::optional<Ns> began, std::int64_t offset, Ns late = 0);
  // A line that says nothing but that the program lived.
  absl::Status Heard(Ns t);
  // The program is over, at the latest then.
  absl::Status End(Ns t);

  // Where a follower goes on that was stopped: what it must know of the lines before.
  struct Memory {
    std::int64_t steps_done = 0;
    Ns done_at = 0;
    std::int64_t stride = 0;
  };
  std::optional<Memory> memory() const;
  void Remember(const Memory& memory);

  std::int64_t repeated() const { return repeated_; }
  std::int64_t attempts() const { return next_attempt_; }

 private:
  // A line of steps that waits for the next one to say how many it was about.
  struct Waiting {
    LogEvent event;
    Ns t = 0;
    std::int64_t offset = 0;
    std::int64_t used = 0;
  };
  struct OpenSave {
    Ns begin = 0;
    bool over_at_next_step = false;
    bool complete_is_untold = false;
    bool released = false;  // the loop went on, it said
    int lane = 0;           // none of two saves that go on side by side has the other's
    int writers = 1;
    std::optional<Ns> last_end;  // by as many as have told
    std::int64_t end_offset = 0;
    bool over_if_untold = false;     // where the program tells of no end of a save at all
    std::optional<Ns> loop_went_on;  // with the next step
  };
  struct Start {
    Start();

    LogAttempt told;
    Ns last_heard = 0;
    Ns last_event = 0;            // of a line that said something
    TimeSpan silence;             // the longest since
    bool explicit_begin = false;  // a line said that it begins
    std::optional<Waiting> waiting;
    bool tells_late = false;  // of a step behind the save that follows it
    // The newest save: of so many steps, which were done when it began.
    std::optional<std::pair<std::int64_t, Ns>> saved_at;
    bool has_step = false;
    std::int64_t done = 0;  // steps
    Ns done_at = 0;
    std::int64_t stride = 0;
    Ns line_ns = 0;   // from one line of steps to the next
    UsualTime steps;  // what one took
    // A line of the loop's since which it did nothing but steps, and when it came.
    std::optional<std::pair<std::int64_t, Ns>> in_loop_since;
    std::optional<Ns> training_begin;
    std::optional<std::int64_t> first_step;  // that will be run, where told
    std::optional<std::int64_t> of;          // steps it will do
    bool begin_marked = false;               // step done + 1 was marked by its begin
    bool over = false;                       // it said that it has done all
    bool over_by_slurm = false;              // Slurm said that it ends the job
    std::map<std::int64_t, OpenSave> saves;  // by step; -1: not told
    std::optional<Ns> restoring;
    std::optional<std::int64_t> restore_step;
    std::set<std::int64_t> saved;           // steps of saves that ended
    bool ends_are_told = false;             // it said so of one
    std::map<std::string, int> phases;      // by name: how many ranks are in it
    std::set<std::string> open_until_step;  // of these, what the next step ends
    bool stop_told = false;
  };
  // Lines of steps of the last moments, to tell what comes late.
  static constexpr std::size_t kRemembered = 64;

  absl::Status Begin(Ns t, std::int64_t offset, bool said);
  absl::Status StepEnd(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status LateStepEnd(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status StepBegin(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status Record(const LogEvent& event, Ns t, std::int64_t first, std::optional<Ns> begin,
                      std::int64_t offset);
  absl::Status ReleaseWaiting(const LogEvent* next, Ns t);
  absl::Status SaveBegin(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status SaveGoesOn(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status Release(std::int64_t step, OpenSave& save, Ns t, std::int64_t offset);
  absl::Status SaveEnd(const LogEvent& event, Ns t, std::optional<Ns> began, std::int64_t offset);
  absl::Status CloseSaves(std::optional<Ns> next_step, std::int64_t offset);
  absl::Status CloseUntoldSaves(std::int64_t offset);
  absl::Status Restore(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status Phase(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status TakeUntoldSteps();
  Ns Settled(const LogEvent& event, Ns t);
  absl::Status JobEnd(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status Stop(Ns t, std::int64_t offset);
  bool IsBehindSlurmsEnd(Ns t) const;
  bool IsAnotherRanks(std::int64_t step, Ns t) const;
  absl::Status Mark(Ns t, PackedMark::Kind kind, bool begin, std::optional<std::int64_t> step,
                    std::string_view name, std::int64_t offset, int lane = 0);
  absl::Status Step(Ns t, std::int64_t step, std::int64_t offset);

  LogSink& sink_;
  std::optional<Start> start_;
  std::optional<TimeSpan> heard_;  // of no start: first and last
  std::optional<Ns> ended_at_;     // the start before
  int next_attempt_ = 0;
  std::int64_t repeated_ = 0;
  std::array<std::pair<std::int64_t, Ns>, kRemembered> recent_{};  // steps done, when
  std::size_t recent_count_ = 0;
  Ns heard_before_ = 0;      // the line that is being taken
  Ns late_ = 0;              // it may have come so long before its time
  std::int64_t offset_ = 0;  // of it
  std::int64_t used_ = 0;    // offsets within it
};

}  // namespace goodput
