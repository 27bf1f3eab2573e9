// Log profiles: how one framework prints its steps, saves and phases, as a data file of regular expressions
// with examples. A profile whose examples do not give what it says they give is refused as a whole: a log
// must not be misread silently because somebody mended an expression.
//
// The file, one item a line (a blank line or one that begins with `#` means nothing):
//
//   profile megatron         its name, as in --goodput-log-profile
//   about   Megatron-LM      for `sgoodput profile list`
//   stamp   EXPRESSION       where lines carry their time; any number of these
//   rule    step_end         what a line means: step_end, step_begin, training_begin, save_begin, save_end,
//                            save, save_goes_on, restore_begin, restore_end, phase_begin, phase_end, stop,
//                            program_begin, program_end, job_end, collective; then of that rule:
//   match   EXPRESSION       RE2's, such as `iteration +(?P<step>\d+)/`, found anywhere in the line
//   add     1                to the number in the line, so that it is the number of steps done
//   name    evaluation       of the phase, where the line has no (?P<name>...); of job_end, Slurm's state
//   over_at next_step        of a save or a phase whose end is not told: the loop waits for it
//   told_at next_step        of a line of a step that comes behind what is done next, such as a save of it
//   complete untold          of a save that goes on behind the loop, and of whose end nothing is told
//   example LINE             behind one blank; it must match this rule and no earlier one
//   gives   step=7 of=100    exactly what is taken from the example; or `nothing`
//   unlike  LINE             that no rule may match; anywhere in the file
//
// Groups: step, of (steps of the program, or of an epoch where there is `epoch`), epoch (from 0), name,
// elapsed (on a bar's own clock, "31:31"), step_s and step_ms (a step took), about_s (more or less: to place
// lines that came late, not to measure by), took_s and took_ms (what ended took), began_unix; of a collective
// bytes, algbw_gbs and busbw_gbs (10^9 bytes a second). Of stamps: date ("2026-02-05 17:07:36.379", also with
// T, a comma, Z or +01:00), unix (seconds) and glog ("0706 16:50:26.257925").
//
// A line is matched without colours and carriage returns (lines.h), by the first rule that matches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

inline constexpr std::size_t kMaxProfileBytes = std::size_t{256} << 10U;

class LogProfile {
 public:
  // `where`: the file, for errors. InvalidArgument names the line and what is wrong with it.
  static absl::StatusOr<LogProfile> Parse(std::string_view text, std::string_view where);
  LogProfile(LogProfile&&) noexcept;
  LogProfile& operator=(LogProfile&&) noexcept;
  LogProfile(const LogProfile&) = delete;
  LogProfile& operator=(const LogProfile&) = delete;
  ~LogProfile();

  const std::string& name() const;
  const std::string& about() const;
  std::size_t rules() const;
  std::size_t examples() const;

  // What the line says; nothing where no rule matches. Its time is there where the line has one.
  std::optional<LogEvent> Match(std::string_view line) const;
  // The time that a line carries, whether or not it says anything.
  std::optional<LineTime> TimeOf(std::string_view line) const;

  struct Impl;

 private:
  explicit LogProfile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The kind as a profile has it, e.g. "step_end".
std::string_view LogEventKindName(LogEvent::Kind kind);

// What an event says as `gives` has it: "step=7 of=100".
std::string EventInWords(const LogEvent& event);

}  // namespace goodput
