// The controller's clock, judged by the records its watch wrote about a job: whoever sets it while a job runs
// moves what accounting says of the job's end against what it says of its start. All times of a boot are
// brought onto the clock as it was last in it. The monotonic clock begins anew with each boot, so boots say
// nothing of each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Two clocks further apart were set; NTP moves real and monotonic time alike, and what it steps is less.
inline constexpr Ns kClockSet = kSecond / 2;

class ControllerClock {
 public:
  // A record's real time and clock (real less monotonic time), and the boot it was written in; kUnknownBoot:
  // one with another clock is of another boot.
  void Add(Ns t, Ns clock, std::string_view boot);
  void Settle();

  bool was_set() const;
  // The time of a record by the last clock of its boot.
  Ns OfRecord(Ns t, Ns clock, std::string_view boot) const;
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
  struct Boot {
    std::string id;
    std::vector<Reading> readings;
    std::vector<Spell> spells;
    Ns last_clock() const { return spells.back().clock; }
    Ns begin() const { return spells.front().first_mono + last_clock(); }
  };
  // The first spell of `boot` that a time can be of; `next`: when the next boot is heard of first.
  static std::optional<Ns> OfAccounting(const Boot& boot, Ns t, Ns not_before, bool first,
                                        std::optional<Ns> next);
  std::vector<Boot> boots_;  // by time, once settled
};

// The boot a spool file's records were written in: BOOT.HOUR.jsonl.
std::string_view BootOfFile(std::string_view file);

}  // namespace goodput
