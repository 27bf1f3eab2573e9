// The controller's clock, judged by the records its watch wrote about a job: whoever sets it while a job runs
// moves what accounting says of the job's end against what it says of its start. All times are brought onto
// the clock as it is last.
#ifndef GOODPUT_TOOLS_RUNS_CONTROLLER_CLOCK_H_
#define GOODPUT_TOOLS_RUNS_CONTROLLER_CLOCK_H_

#include <string>
#include <vector>

#include "tools/timeline/facts.h"

namespace goodput {

// Two clocks further apart were set; NTP moves real and monotonic time alike, and what it steps is less.
inline constexpr Ns kClockSet = kSecond / 2;

class ControllerClock {
 public:
  // A record's real time and clock (real less monotonic time).
  void Add(Ns t, Ns clock);
  void Settle();

  bool was_set() const { return spells_.size() > 1; }
  // The time of a record by the last clock.
  Ns OfRecord(Ns t, Ns clock) const;
  // A time slurmctld or slurmdbd told, by which clock they do not say: the first it can be by, if it is to
  // come after `not_before` (already by the last clock; times are whole seconds).
  Ns OfAccounting(Ns t, Ns not_before) const;
  // By how much a clock that agreed with it once is behind it now.
  std::vector<Ns> Shifts() const;
  // One sentence each time it was set.
  std::vector<std::string> Findings() const;

 private:
  struct Reading {
    Ns mono = 0;
    Ns clock = 0;
  };
  // While the clock was not set.
  struct Spell {
    Ns clock = 0;
    Ns first_mono = 0;
    Ns last_mono = 0;
  };
  std::vector<Reading> readings_;
  std::vector<Spell> spells_;
};

}  // namespace goodput

#endif  // GOODPUT_TOOLS_RUNS_CONTROLLER_CLOCK_H_
