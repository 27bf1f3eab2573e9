#include "tools/accounting/runs/controller_clock.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "spank/event.h"

namespace goodput {
namespace {

// The two times of a record are read this close together.
constexpr Ns kReadApart = kSecond / 1000;

Ns Rounded(Ns shift) {
  const Ns half = shift < 0 ? -kReadApart / 2 : kReadApart / 2;
  return (shift + half) / kReadApart * kReadApart;
}

}  // namespace

std::string_view BootOfFile(std::string_view file) {
  return file.substr(0, file.find('.'));
}

void ControllerClock::Add(Ns t, Ns clock, std::string_view boot) {
  const bool unknown = boot == kUnknownBoot;
  auto of = std::find_if(boots_.begin(), boots_.end(), [&](const Boot& known) {
    return known.id == boot && (!unknown || std::abs(known.readings.front().clock - clock) <= kClockSet);
  });
  if (of == boots_.end()) of = boots_.insert(of, Boot{std::string(boot), {}, {}});
  of->readings.push_back({t - clock, clock});
}

void ControllerClock::Settle() {
  for (Boot& boot : boots_) {
    std::sort(boot.readings.begin(), boot.readings.end(),
              [](const Reading& a, const Reading& b) { return a.mono < b.mono; });
    boot.spells.clear();
    for (const Reading& reading : boot.readings) {
      // For an unknown boot, all readings have one clock.
      const bool set = !boot.spells.empty() && std::abs(reading.clock - boot.last_clock()) > kClockSet &&
                       boot.id != kUnknownBoot;
      if (boot.spells.empty() || set) boot.spells.push_back({reading.clock, reading.mono, reading.mono});
      boot.spells.back().last_mono = reading.mono;
    }
  }
  std::sort(boots_.begin(), boots_.end(), [](const Boot& a, const Boot& b) { return a.begin() < b.begin(); });
}

bool ControllerClock::was_set() const {
  return std::any_of(boots_.begin(), boots_.end(), [](const Boot& boot) { return boot.spells.size() > 1; });
}

Ns ControllerClock::OfRecord(Ns t, Ns clock, std::string_view boot) const {
  if (boot == kUnknownBoot) return t;
  const auto of =
      std::find_if(boots_.begin(), boots_.end(), [&](const Boot& known) { return known.id == boot; });
  return of != boots_.end() && of->spells.size() > 1 ? t - clock + of->last_clock() : t;
}

std::optional<Ns> ControllerClock::OfAccounting(const Boot& boot, Ns t, Ns not_before, bool first,
                                                std::optional<Ns> next) {
  const std::vector<Spell>& spells = boot.spells;
  for (std::size_t i = 0; i < spells.size(); ++i) {
    const Ns mono = t - spells[i].clock;
    const Ns now = t + Rounded(boot.last_clock() - spells[i].clock);
    const bool last = i + 1 == spells.size();
    const bool after_the_last =
        i == 0 ? first || mono >= -kSecond : mono >= spells[i - 1].last_mono - kSecond;
    const bool before_the_next = last ? !next || t < *next : mono <= spells[i + 1].first_mono + kSecond;
    if (after_the_last && before_the_next && now >= not_before - kSecond) return now;
  }
  return std::nullopt;
}

Ns ControllerClock::OfAccounting(Ns t, Ns not_before) const {
  if (!was_set()) return t;
  for (std::size_t i = 0; i < boots_.size(); ++i) {
    const std::optional<Ns> next =
        i + 1 < boots_.size()
            ? std::optional(boots_[i + 1].spells.front().first_mono + boots_[i + 1].spells.front().clock)
            : std::nullopt;
    if (const std::optional<Ns> of = OfAccounting(boots_[i], t, not_before, i == 0, next)) return *of;
  }
  return t;
}

std::vector<Ns> ControllerClock::Shifts() const {
  std::vector<Ns> shifts;
  for (const Boot& boot : boots_) {
    for (std::size_t i = 0; i + 1 < boot.spells.size(); ++i)
      shifts.push_back(boot.last_clock() - boot.spells[i].clock);
  }
  return shifts;
}

std::vector<std::string> ControllerClock::Findings() const {
  std::vector<std::string> findings;
  for (const Boot& boot : boots_) {
    for (std::size_t i = 1; i < boot.spells.size(); ++i) {
      findings.push_back(
          absl::StrFormat("the controller's clock was set by %+.1f s before %s; earlier times are converted "
                          "to the current clock",
                          static_cast<double>(boot.spells[i].clock - boot.spells[i - 1].clock) / 1e9,
                          absl::FormatTime("%Y-%m-%dT%H:%M:%S",
                                           absl::FromUnixNanos(boot.spells[i].first_mono + boot.last_clock()),
                                           absl::LocalTimeZone())));
    }
  }
  return findings;
}

}  // namespace goodput
