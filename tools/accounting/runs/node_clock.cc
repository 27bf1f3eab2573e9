#include "tools/accounting/runs/node_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/accounting/runs/controller_clock.h"

namespace goodput {
namespace {

// Accounting rounds down to seconds, and processes take time.
constexpr Ns kSlack = kSecond / 2;
// Killed tasks, and saves that they still complete, may come this long after the end.
constexpr Ns kOutlives = 120 * kSecond;
// A prolog much later than the allocation says nothing about clocks; one long before it belongs to another.
constexpr Ns kFarthest = 90 * kSecond;
constexpr Ns kUnbounded = std::numeric_limits<Ns>::max() / 4;

Ns LastMoment(const AllocatedSpan& span) {
  return span.end ? *span.end + kSecond : std::numeric_limits<Ns>::max() / 2;
}

}  // namespace

AllocatedSpans::AllocatedSpans(std::vector<AllocatedSpan> spans) : spans_(std::move(spans)) {
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const AllocatedSpan& a, const AllocatedSpan& b) { return a.start < b.start; });
  Latest latest{std::numeric_limits<Ns>::min(), std::numeric_limits<Ns>::min(),
                std::numeric_limits<Ns>::min()};
  latest_.reserve(spans_.size());
  for (const AllocatedSpan& span : spans_) {
    const Ns last = LastMoment(span);
    latest.moment = std::max(latest.moment, last);
    latest.outlived = std::max(latest.outlived, last + kOutlives);
    latest.strict = std::max(latest.strict, last + (span.ended_by_itself ? kSlack : kOutlives));
    latest_.push_back(latest);
  }
}

std::size_t AllocatedSpans::StartedBy(Ns t) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), t,
                                      [](Ns at, const AllocatedSpan& span) { return at < span.start; });
  return static_cast<std::size_t>(after - spans_.begin());
}

bool AllocatedSpans::Contain(Ns t, bool before_end) const {
  const std::size_t started = StartedBy(t + kSlack);
  if (started == 0) return false;
  const Latest& latest = latest_[started - 1];
  return t <= (before_end ? latest.strict : latest.outlived);
}

const AllocatedSpan* AllocatedSpans::Nearest(Ns t) const {
  const AllocatedSpan* nearest = nullptr;
  Ns distance = kFarthest;
  for (std::size_t i = StartedBy(t + kFarthest); i > 0 && latest_[i - 1].moment >= t - kFarthest; --i) {
    const AllocatedSpan& span = spans_[i - 1];
    const Ns away = std::max<Ns>({span.start - t, t - LastMoment(span), 0});
    if (nearest == nullptr ? away > distance : away >= distance) continue;
    nearest = &span;
    distance = away;
  }
  return nearest;
}

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
    if (settings_.empty() || clock - settings_.back().highest > kClockSet)
      settings_.push_back({clock, clock});
    settings_.back().highest = clock;
  }
}

const NodeClock::Setting* NodeClock::SettingOf(Ns clock) const {
  const auto found =
      std::partition_point(settings_.begin(), settings_.end(),
                           [clock](const Setting& setting) { return setting.highest + kClockSet < clock; });
  return found == settings_.end() ? nullptr : &*found;
}

Ns NodeClock::Correct(Ns t, Ns clock) const {
  if (!reference_) return t;
  // Within one setting, differences are real (NTP's); between two, they are what the clock was set by.
  const Setting* setting = SettingOf(clock);
  return t + (*reference_ - (setting == nullptr ? clock : setting->reference()));
}

// Candidates for the clock: each that the node had, and those that place the job's first record of an
// allocation into it.
std::vector<Ns> NodeClock::Candidates(const AllocatedSpans& spans, const std::vector<Ns>& shifts) const {
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
  for (const AllocatedSpan& span : spans.by_start())
    candidates.push_back(span.start - (first->t - first->clock));
  return candidates;
}

// The number of records within the allocations by this clock, and the number written by it.
std::pair<int, int> NodeClock::Score(Ns reference, const AllocatedSpans& spans) const {
  std::pair<int, int> score{0, 0};
  for (const Reading& reading : readings_) {
    const Ns setting = SettingOf(reading.clock)->reference();
    const Ns t = reading.t + reference - setting;
    if (setting == reference) ++score.second;
    if (reading.bound != Bound::kFree && spans.Contain(t, reading.bound == Bound::kBeforeEnd)) ++score.first;
  }
  return score;
}

Ns NodeClock::BestReference(const AllocatedSpans& spans, const std::vector<Ns>& shifts) const {
  const auto bounded = std::count_if(readings_.begin(), readings_.end(),
                                     [](const Reading& reading) { return reading.bound != Bound::kFree; });
  std::pair<int, int> best{-1, -1};
  Ns reference = 0;
  const std::vector<Ns> candidates = Candidates(spans, shifts);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    // The clocks it had come first: if one of them explains everything, no other can be better.
    if (i >= settings_.size() && best.first == bounded) break;
    const std::pair<int, int> score = Score(candidates[i], spans);
    if (score <= best) continue;
    best = score;
    reference = candidates[i];
  }
  return reference;
}

NodeClock::Room NodeClock::RoomIn(const AllocatedSpans& spans) const {
  Room room{-kUnbounded, kUnbounded};
  for (const Reading& reading : readings_) {
    const Ns t = Correct(reading.t, reading.clock);
    const AllocatedSpan* span = spans.Nearest(t);
    if (span == nullptr) continue;
    if (reading.bound == Bound::kAfterStart) room.least = std::max(room.least, span->start - t);
    if (reading.bound == Bound::kBeforeEnd && span->ended_by_itself)
      room.most = std::min(room.most, LastMoment(*span) - t);
  }
  return room;
}

// How far all records must move to lie where they must; 0 if they already do, or no single shift suffices.
Ns NodeClock::Shift(const Room& room) {
  if (room.least > room.most) return 0;
  if (room.least > kSlack) return room.least;
  if (room.most < -kSlack) return room.most;
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

// The distance of its nearest clock from the controller's; 0: it was correct at some time.
Ns NodeClock::Apart() const {
  Ns apart = *reference_ - settings_.back().reference();
  for (const Setting& setting : settings_) {
    if (std::abs(*reference_ - setting.reference()) < std::abs(apart))
      apart = *reference_ - setting.reference();
  }
  return std::abs(apart) <= kSlack ? 0 : apart;
}

void NodeClock::Settle(const AllocatedSpans& spans, const std::vector<Ns>& shifts) {
  reference_.reset();
  findings_.clear();
  apart_ = 0;
  FindSettings();
  if (settings_.empty() || spans.empty()) return;
  if (many_boots_ && settings_.size() > 1) return;
  reference_ = BestReference(spans, shifts);
  *reference_ += Shift(RoomIn(spans));
  apart_ = Apart();
  if (apart_ == 0 && settings_.size() == 1) {
    reference_.reset();
    return;
  }
  if (apart_ != 0) {
    room_ = RoomIn(spans);
    const bool bounded = room_.least > -kFarthest && room_.most < kFarthest && room_.least <= room_.most;
    if (bounded) Align((room_.least + room_.most) / 2);
  }
  Report(apart_);
}

void NodeClock::Align(Ns by) {
  if (apart_ == 0) return;
  if (room_.least <= room_.most) by = std::min(std::max(by, room_.least), room_.most);
  *reference_ += by;
  room_.least -= by;
  room_.most -= by;
  apart_ += by;
  Report(apart_);
}

}  // namespace goodput
