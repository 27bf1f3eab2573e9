#include "tools/runs/controller_clock.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace goodput {
namespace {

// The two times of a record are read a moment apart.
constexpr Ns kReadApart = kSecond / 1000;

Ns Rounded(Ns shift) {
  const Ns half = shift < 0 ? -kReadApart / 2 : kReadApart / 2;
  return (shift + half) / kReadApart * kReadApart;
}

}  // namespace

void ControllerClock::Add(Ns t, Ns clock) {
  readings_.push_back({t - clock, clock});
}

void ControllerClock::Settle() {
  std::sort(readings_.begin(), readings_.end(),
            [](const Reading& a, const Reading& b) { return a.mono < b.mono; });
  spells_.clear();
  for (const Reading& reading : readings_) {
    if (spells_.empty() || std::abs(reading.clock - spells_.back().clock) > kClockSet)
      spells_.push_back({reading.clock, reading.mono, reading.mono});
    spells_.back().last_mono = reading.mono;
  }
}

Ns ControllerClock::OfRecord(Ns t, Ns clock) const {
  return was_set() ? t - clock + spells_.back().clock : t;
}

Ns ControllerClock::OfAccounting(Ns t, Ns not_before) const {
  if (!was_set()) return t;
  for (std::size_t i = 0; i < spells_.size(); ++i) {
    const Ns mono = t - spells_[i].clock;
    const Ns now = t + Rounded(spells_.back().clock - spells_[i].clock);
    const bool after_the_last = i == 0 || mono >= spells_[i - 1].last_mono - kSecond;
    const bool before_the_next = i + 1 == spells_.size() || mono <= spells_[i + 1].first_mono + kSecond;
    if (after_the_last && before_the_next && now >= not_before - kSecond) return now;
  }
  return t;
}

std::vector<Ns> ControllerClock::Shifts() const {
  std::vector<Ns> shifts;
  for (std::size_t i = 0; i + 1 < spells_.size(); ++i)
    shifts.push_back(spells_.back().clock - spells_[i].clock);
  return shifts;
}

std::vector<std::string> ControllerClock::Findings() const {
  std::vector<std::string> findings;
  for (std::size_t i = 1; i < spells_.size(); ++i) {
    findings.push_back(
        absl::StrFormat("the controller's clock was set by %+.1f s before %s; times before that are given by "
                        "the clock as it is now",
                        static_cast<double>(spells_[i].clock - spells_[i - 1].clock) / 1e9,
                        absl::FormatTime("%Y-%m-%dT%H:%M:%S",
                                         absl::FromUnixNanos(spells_[i].first_mono + spells_.back().clock),
                                         absl::LocalTimeZone())));
  }
  return findings;
}

}  // namespace goodput
