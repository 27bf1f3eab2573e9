// Corrects for changes of the controller's clock, judged by the records that the queue watch wrote about a
// job: if the clock is set while a job runs, accounting's end of the job shifts against its start. All times
// of a boot are converted to the boot's last clock. The monotonic clock restarts at each boot, so boots
// cannot be compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Clocks that differ by more were set. NTP slews real and monotonic time alike, and steps by less.
inline constexpr Ns kClockSet = kSecond / 2;

class ControllerClock {
 public:
  // A record's real time and clock (real minus monotonic time), and the boot in which it was written; for
  // kUnknownBoot, another clock means another boot.
  void Add(Ns t, Ns clock, std::string_view boot);
  void Settle();

  bool was_set() const;
  // The time of a record by the last clock of its boot.
  Ns OfRecord(Ns t, Ns clock, std::string_view boot) const;
  // A time from slurmctld or slurmdbd, whose clock is not recorded: converted with the earliest clock for
  // which it comes after `not_before` (already converted; times are whole seconds).
  Ns OfAccounting(Ns t, Ns not_before) const;
  // By how much clocks that once agreed with the current one are now behind it.
  std::vector<Ns> Shifts() const;
  // One sentence for each time the clock was set.
  std::vector<std::string> Findings() const;

 private:
  struct Reading {
    Ns mono = 0;
    Ns clock = 0;
  };
  // A period in which the clock was not set.
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
  // The first spell of `boot` to which a time can belong; `next`: when the next boot is first heard of.
  static std::optional<Ns> OfAccounting(const Boot& boot, Ns t, Ns not_before, bool first,
                                        std::optional<Ns> next);
  std::vector<Boot> boots_;  // by time, once settled
};

// The boot of a spool file's records: BOOT.HOUR.jsonl.
std::string_view BootOfFile(std::string_view file);

}  // namespace goodput
