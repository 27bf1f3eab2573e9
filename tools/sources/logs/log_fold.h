// Turns the events of a program's output, by time, into the marks that the program would have sent: when each
// step began, which saves and phases there were, and where the program was restarted. The same for a log that
// is followed while it grows and for a finished one.
//
// - A line that step N is done reports all steps since the previous such line. They began when the previous
//   steps were done; if the line states step durations, they began that long before the line was printed, and
//   the time between is overhead (`between_steps`).
// - The first such line of a start reports the steps since the one from which it resumed, or since the begin
//   of training if a line announced it; otherwise as many steps as the next line does, each of the same
//   duration.
// - A number that was just reported comes from another rank and is ignored. Any other lower number, and any
//   number after a line that the program begins, means that the program was restarted.
// - If the numbers are those of several programs that print at the same time, this is an error
//   (FailedPrecondition), since nothing tells whose a step is.
// - A line whose time is only known roughly is placed where its steps were done, as far as possible: by the
//   durations that it prints, or by the pace of the previous lines.
// - If several ranks report a save or phase, the first begin and the last end count.
// - If only some releases of a framework print the end of a save, the save ended when training continued,
//   provided that no end was printed before the next save or the program's end.
// - If a framework prints a step after the save that follows it (told_at_next_step), the save tells when the
//   step was done.
// - Slurm's message that it ends the job does not end the program, which lives until it is killed; what it
//   prints until then belongs to the same start. Lines after a pause belong to the next one.
// - No line tells what the program was doing when it ended. If it lived for more than half of the usual time
//   of a line's steps, it was in the next step.
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
#include "tools/sources/logs/interleaving.h"
#include "tools/sources/logs/log_event.h"
#include "tools/sources/logs/log_sink.h"
#include "tools/sources/logs/running_median.h"

namespace goodput {

class LogFold {
 public:
  explicit LogFold(LogSink& sink) : sink_(sink) {}

  // `began`: the begin that the event itself states, by the same clock as `t`. `offset`: of the line; a line
  // has more bytes than it produces marks. `late`: it may have been printed up to this much before `t`.
  absl::Status Take(const LogEvent& event, Ns t, std::optional<Ns> began, std::int64_t offset, Ns late = 0);
  // A line that only shows that the program lived.
  absl::Status Heard(Ns t);
  // The program has ended, at this time at the latest.
  absl::Status End(Ns t);

  // State with which a follower that was stopped continues.
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
  // A line of steps that waits for the next one to tell how many steps it reports.
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
    bool released = false;  // the program reported that training continued
    int lane = 0;           // concurrent saves have different lanes
    int writers = 1;
    std::optional<Ns> last_end;  // by the number of ranks that reported it
    std::int64_t end_offset = 0;
    bool over_if_untold = false;     // if the program prints no end of any save
    std::optional<Ns> loop_went_on;  // with the next step
  };
  struct Start {
    Start();

    LogAttempt told;
    Ns last_heard = 0;
    Ns last_event = 0;            // of a matched line
    TimeSpan silence;             // the longest since then
    bool explicit_begin = false;  // a line announced its begin
    std::optional<Waiting> waiting;
    bool tells_late = false;  // it prints a step after the save that follows it
    // The newest save: its number of steps, and when they were done.
    std::optional<std::pair<std::int64_t, Ns>> saved_at;
    bool has_step = false;
    std::int64_t done = 0;  // steps
    Ns done_at = 0;
    std::int64_t stride = 0;
    Ns line_ns = 0;   // from one line of steps to the next
    UsualTime steps;  // durations of one step
    // A line of the loop since which the program did nothing but steps, and its time.
    std::optional<std::pair<std::int64_t, Ns>> in_loop_since;
    std::optional<Ns> training_begin;
    std::optional<TimeSpan> begins_again;    // from the line before a bar at 0, after steps, to that bar
    std::optional<std::int64_t> first_step;  // number of the first step to run, if printed
    std::optional<std::int64_t> of;          // number of steps it will do
    bool begin_marked = false;               // the begin of step done + 1 was marked
    bool over = false;                       // it reported that it is done
    bool over_by_slurm = false;              // Slurm reported that it ends the job
    std::map<std::int64_t, OpenSave> saves;  // by step; -1: not printed
    std::optional<Ns> restoring;
    std::optional<std::int64_t> restore_step;
    std::set<std::int64_t> saved;  // steps of saves that ended
    bool ends_are_told = false;    // it printed the end of one
    // The steps done when it last printed the end of one whose begin and step it did not print.
    std::optional<std::int64_t> untold_save;
    std::map<std::string, int> phases;      // by name: number of ranks in it
    std::set<std::string> open_until_step;  // those that the next step ends
    bool stop_told = false;
  };
  // Recent lines of steps, to recognize late ones.
  static constexpr std::size_t kRemembered = 64;
  // A test with more hosts, or whose list is longer, has none.
  static constexpr std::size_t kMostHosts = 4096;
  static constexpr std::size_t kMostHostsBytes = 3072;

  absl::Status Begin(Ns t, std::int64_t offset, bool said);
  absl::Status StepEnd(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status LateStepEnd(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status StepBegin(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status BetweenSteps(Ns begin, Ns steps, std::int64_t offset);
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
  void CollectiveHost(const std::string& name);
  absl::Status Collective(const LogEvent& event, Ns t, std::int64_t offset);
  absl::Status Stop(Ns t, std::int64_t offset);
  bool IsBehindSlurmsEnd(Ns t) const;
  bool IsAnotherRanks(std::int64_t step, Ns t) const;
  absl::Status Mark(Ns t, PackedMark::Kind kind, bool begin, std::optional<std::int64_t> step,
                    std::string_view name, std::int64_t offset, int lane = 0);
  absl::Status Step(Ns t, std::int64_t step, std::int64_t offset);

  LogSink& sink_;
  std::optional<Start> start_;
  std::set<std::string> named_;    // hosts of the test of the network that begins; empty: none begins
  std::string hosts_;              // of the test that runs, compressed
  std::optional<TimeSpan> heard_;  // lines of no start: first and last
  std::optional<Ns> ended_at_;     // the previous start
  int next_attempt_ = 0;
  std::int64_t repeated_ = 0;
  std::array<std::pair<std::int64_t, Ns>, kRemembered> recent_{};  // steps done, and when
  std::size_t recent_count_ = 0;
  Interleaving interleaving_;
  Ns heard_before_ = 0;      // before the line being taken
  Ns late_ = 0;              // it may have come this much before its time
  std::int64_t offset_ = 0;  // of that line
  std::int64_t used_ = 0;    // offsets within it
};

}  // namespace goodput
