// Log profiles: how one framework prints its steps, saves and phases, as a data file of regular expressions
// with examples. A profile is refused as a whole if an example does not give the stated result, so that a
// changed expression cannot silently misread logs.
//
// The file has one item per line; blank lines and lines that begin with `#` are ignored:
//
//   profile megatron         its name, as in --goodput-log-profile
//   about   Megatron-LM      for `sgoodput profile list`
//   stamp   EXPRESSION       finds the time of a line; any number of these; without any, those of kStamps do
//   rule    step_end         what a line means: step_end, step_begin, training_begin, save_begin, save_end,
//                            save, save_goes_on, restore_begin, restore_end, phase_begin, phase_end, stop,
//                            program_begin, program_end, job_end, collective, collective_host (`name` takes
//                            part in those that follow), epoch_begin (the lines that follow are in this
//                            epoch); followed by the rule's items:
//   match   EXPRESSION       RE2 syntax, such as `iteration +(?P<step>\d+)/`, found anywhere in the line
//   add     1                to the number in the line, which gives the number of steps done
//   name    evaluation       of the phase, if the line has no (?P<name>...); for job_end, Slurm's state
//   over_at next_step        for a save or phase whose end is not printed: training waits for it
//   told_at next_step        for a line about a step that is printed after the save of that step
//   complete untold          for a background save whose end is not printed
//   within  epoch            for a step that is counted within the epoch of the last epoch_begin; without
//                            one, the line says nothing. `epoch_if_any`: without one, it is the first epoch
//   example LINE             after one blank; it must match this rule and no earlier one
//   gives   step=7 of=100    exactly what is taken from the example; or `nothing`
//   unlike  LINE             no rule may match it; anywhere in the file
//
// Groups: step (a step_end without it ends the step of the latest step_begin), of (steps of the program, or
// of an epoch if there is an epoch), epoch (from 0), epoch1 (from 1), name, elapsed (on a bar's own clock,
// "31:31"), step_s and step_ms (duration of a step), about_s (approximate: to place late lines, not to
// measure), took_s and took_ms (duration of what ended), began_unix; for a collective bytes, algbw_gbs and
// busbw_gbs (10^9 bytes per second). For stamps: date ("2026-02-05 17:07:36.379", also with T, a comma, Z or
// +01:00), us_date ("02/05 17:07:36", also with the year), unix (seconds) and glog ("0706 16:50:26.257925",
// also with the year).
//
// A line is matched without colours and carriage returns (lines.h), by the first rule that matches.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

// How most programs print the time of a line, as `stamp` of a profile. Whether 04/05/2026 is in April or in
// May is not known, so such dates are not read; without a year, the month comes first.
inline constexpr std::array<std::string_view, 3> kStamps{
    R"((?P<date>\d{4}[-/]\d\d[-/]\d\d[ T,]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)?))",
    R"((?:^|\[)(?P<us_date>\d\d/\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?))",
    R"(^[DIWEF](?P<glog>\d{4}(?:\d{4})? \d\d:\d\d:\d\d(?:\.\d+)?) )"};

inline constexpr std::size_t kMaxProfileBytes = std::size_t{256} << 10U;

class LogProfile {
 public:
  // `where`: the file, for messages. InvalidArgument names the line and what is wrong with it.
  static absl::StatusOr<LogProfile> Parse(std::string_view text, std::string_view where);
  // A built-in profile: a unit test checks its examples, which is most of the work.
  static absl::StatusOr<LogProfile> ParseBuiltIn(std::string_view text, std::string_view where);
  // A profile whose rules may have no examples yet.
  static absl::StatusOr<LogProfile> ParseDraft(std::string_view text);
  LogProfile(LogProfile&&) noexcept;
  LogProfile& operator=(LogProfile&&) noexcept;
  LogProfile(const LogProfile&) = delete;
  LogProfile& operator=(const LogProfile&) = delete;
  ~LogProfile();

  const std::string& name() const;
  const std::string& about() const;
  std::size_t rules() const;
  std::size_t examples() const;

  // The meaning of the line; empty if no rule matches. It has a time if the line has one.
  std::optional<LogEvent> Match(std::string_view line) const;
  // The time of a line, whether or not a rule matches.
  std::optional<LineTime> TimeOf(std::string_view line) const;

  struct Impl;

 private:
  explicit LogProfile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The name of the kind in a profile, such as "step_end".
std::string_view LogEventKindName(LogEvent::Kind kind);

// Counts the event's step, which is counted within this epoch (from 0), from the program's first step. False:
// the epoch's number of steps is not known.
bool PlaceInEpoch(LogEvent& event, std::int64_t epoch);

// An event in the format of `gives`: "step=7 of=100".
std::string EventInWords(const LogEvent& event);

}  // namespace goodput
