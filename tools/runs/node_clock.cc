#include "tools/runs/node_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_format.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Two clocks further apart were set; NTP moves real and monotonic time alike, and what it steps is less.
constexpr Ns kSet = kSecond / 2;
// Accounting rounds down to seconds, and processes take their time.
constexpr Ns kSlack = kSecond / 2;
// Tasks that are killed, and saves they still complete, may come so long after the end.
constexpr Ns kOutlives = 120 * kSecond;
// A prolog that comes much later than the allocation says nothing about clocks; one that lies long before it
// is not of it.
constexpr Ns kFarthest = 90 * kSecond;

double Seconds(Ns ns) {
  return static_cast<double>(ns) / 1e9;
}

Ns LastMoment(const AllocatedSpan& span) {
  return span.end ? *span.end + kSecond : std::numeric_limits<Ns>::max() / 2;
}

bool Within(const AllocatedSpan& span, Ns t, NodeClock::Bound bound) {
  const bool strict = span.ended_by_itself && bound == NodeClock::Bound::kBeforeEnd;
  return t >= span.start - kSlack && t <= LastMoment(span) + (strict ? kSlack : kOutlives);
}

// The allocation a record is of: the one it lies in, else the nearest that is not far.
const AllocatedSpan* SpanOf(const std::vector<AllocatedSpan>& spans, Ns t) {
  const AllocatedSpan* nearest = nullptr;
  Ns distance = kFarthest;
  for (const AllocatedSpan& span : spans) {
    const Ns away = std::max<Ns>({span.start - t, t - LastMoment(span), 0});
    if (away > distance) continue;
    nearest = &span;
    distance = away;
  }
  return nearest;
}

}  // namespace

void NodeClock::Add(Ns t, Ns clock, Bound bound) {
  readings_.push_back({t, clock, bound});
}

void NodeClock::FindSettings() {
  std::vector<Ns> clocks;
  clocks.reserve(readings_.size());
  for (const Reading& reading : readings_) clocks.push_back(reading.clock);
  std::sort(clocks.begin(), clocks.end());
  settings_.clear();
  for (const Ns clock : clocks) {
    if (settings_.empty() || clock - settings_.back().highest > kSet) settings_.push_back({clock, clock});
    settings_.back().highest = clock;
  }
}

const NodeClock::Setting* NodeClock::SettingOf(Ns clock) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(),
                                  [clock](const Setting& s) { return clock <= s.highest + kSet; });
  return found == settings_.end() ? nullptr : &*found;
}

Ns NodeClock::Correct(Ns t, Ns clock) const {
  if (!reference_) return t;
  // Within one setting differences are real (NTP's), between two they are what it was set by.
  const Setting* setting = SettingOf(clock);
  return t + (*reference_ - (setting == nullptr ? clock : setting->reference()));
}

// What the clock could have been all the time: as it was at some time, or such that the job's first record of
// an allocation came with one of them.
std::vector<Ns> NodeClock::Candidates(const std::vector<AllocatedSpan>& spans,
                                      const std::vector<Ns>& shifts) const {
  std::vector<Ns> candidates;
  for (const Setting& setting : settings_) candidates.push_back(setting.reference());
  for (const Setting& setting : settings_) {
    for (const Ns shift : shifts) candidates.push_back(setting.reference() + shift);
  }
  const Reading* first = nullptr;
  for (const Reading& reading : readings_) {
    if (reading.bound != Bound::kAfterStart) continue;
    if (first == nullptr || reading.t - reading.clock < first->t - first->clock) first = &reading;
  }
  if (first == nullptr) return candidates;
  for (const AllocatedSpan& span : spans) candidates.push_back(span.start - (first->t - first->clock));
  return candidates;
}

// How many records lie within the allocations by this clock; how many were written by it.
std::pair<int, int> NodeClock::Score(Ns reference, const std::vector<AllocatedSpan>& spans) const {
  std::pair<int, int> score{0, 0};
  for (const Reading& reading : readings_) {
    const Ns setting = SettingOf(reading.clock)->reference();
    const Ns t = reading.t + reference - setting;
    if (setting == reference) ++score.second;
    if (reading.bound != Bound::kFree && std::any_of(spans.begin(), spans.end(), [&](const AllocatedSpan& s) {
          return Within(s, t, reading.bound);
        }))
      ++score.first;
  }
  return score;
}

Ns NodeClock::BestReference(const std::vector<AllocatedSpan>& spans, const std::vector<Ns>& shifts) const {
  std::pair<int, int> best{-1, -1};
  Ns reference = 0;
  for (const Ns candidate : Candidates(spans, shifts)) {
    const std::pair<int, int> score = Score(candidate, spans);
    if (score <= best) continue;
    best = score;
    reference = candidate;
  }
  return reference;
}

// How far all records must move to lie where they must; 0 where they do, or where no one shift brings all in.
Ns NodeClock::Shift(const std::vector<AllocatedSpan>& spans) const {
  Ns least = std::numeric_limits<Ns>::min() / 2;
  Ns most = std::numeric_limits<Ns>::max() / 2;
  for (const Reading& reading : readings_) {
    const Ns t = Correct(reading.t, reading.clock);
    const AllocatedSpan* span = SpanOf(spans, t);
    if (span == nullptr) continue;
    if (reading.bound == Bound::kAfterStart) least = std::max(least, span->start - t);
    if (reading.bound == Bound::kBeforeEnd && span->ended_by_itself)
      most = std::min(most, LastMoment(*span) - t);
  }
  if (least > most) return 0;
  if (least > kSlack) return least;
  if (most < -kSlack) return most;
  return 0;
}

void NodeClock::Report(Ns shift) {
  std::sort(readings_.begin(), readings_.end(),
            [](const Reading& a, const Reading& b) { return a.t - a.clock < b.t - b.clock; });
  std::vector<Finding> jumps;
  for (std::size_t i = 1; i < readings_.size(); ++i) {
    const Setting* before = SettingOf(readings_[i - 1].clock);
    const Setting* after = SettingOf(readings_[i].clock);
    if (before == after) continue;
    jumps.push_back(
        {Correct(readings_[i].t, readings_[i].clock),
         absl::StrFormat("was set by %+.1f s", Seconds(after->reference() - before->reference()))});
  }
  constexpr std::size_t kMostJumps = 4;
  if (jumps.size() > kMostJumps) {
    const std::size_t more = jumps.size() - kMostJumps;
    jumps.resize(kMostJumps);
    jumps.back().text += Cat(", and ", more, " times more");
  }
  findings_ = std::move(jumps);
  if (shift != 0) {
    findings_.push_back({readings_.empty() ? 0 : Correct(readings_[0].t, readings_[0].clock),
                         absl::StrFormat("is about %.0f s %s the controller's", std::abs(Seconds(shift)),
                                         shift < 0 ? "ahead of" : "behind")});
  }
}

void NodeClock::Settle(const std::vector<AllocatedSpan>& spans, const std::vector<Ns>& shifts) {
  reference_.reset();
  findings_.clear();
  FindSettings();
  if (settings_.empty() || spans.empty()) return;
  reference_ = BestReference(spans, shifts);
  *reference_ += Shift(spans);
  Ns apart = *reference_ - settings_.back().reference();
  for (const Setting& setting : settings_) {
    if (std::abs(*reference_ - setting.reference()) < std::abs(apart))
      apart = *reference_ - setting.reference();
  }
  if (settings_.size() == 1 && std::abs(apart) <= kSlack) {
    reference_.reset();
    return;
  }
  Report(std::abs(apart) <= kSlack ? 0 : apart);
}

}  // namespace goodput
