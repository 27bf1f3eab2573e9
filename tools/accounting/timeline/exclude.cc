#include "tools/accounting/timeline/exclude.h"

#include <algorithm>
#include <utility>

#include "tools/accounting/timeline/signal_summary.h"
#include "tools/accounting/timeline/stalls.h"

namespace goodput {
namespace {

// Sorted, and merged if they touch.
std::vector<TimeSpan> Joined(std::vector<TimeSpan> windows) {
  std::sort(windows.begin(), windows.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  std::vector<TimeSpan> joined;
  for (const TimeSpan& window : windows) {
    if (window.begin >= window.end) continue;
    if (joined.empty() || joined.back().end < window.begin) {
      joined.push_back(window);
    } else {
      joined.back().end = std::max(joined.back().end, window.end);
    }
  }
  return joined;
}

// The parts of the interval outside the windows.
void Cut(const Interval& interval, const std::vector<TimeSpan>& windows, std::vector<Interval>& outside) {
  Interval rest = interval;
  auto window = std::upper_bound(windows.begin(), windows.end(), interval.begin,
                                 [](Ns t, const TimeSpan& one) { return t < one.end; });
  for (; window != windows.end() && window->begin < rest.end; ++window) {
    Interval before = rest;
    before.end = std::min(rest.end, window->begin);
    if (before.begin < before.end) outside.push_back(std::move(before));
    rest.begin = std::max(rest.begin, window->end);
  }
  if (rest.begin < rest.end) outside.push_back(std::move(rest));
}

template <typename Event, typename When>
void Drop(std::vector<Event>& events, const When& excluded) {
  events.erase(std::remove_if(events.begin(), events.end(), excluded), events.end());
}

}  // namespace

void ExcludeTime(Timeline& timeline, std::vector<TimeSpan> windows) {
  windows = Joined(std::move(windows));
  if (windows.empty()) return;
  timeline.pace.reset();
  std::vector<Interval> outside;
  for (const Interval& interval : timeline.intervals) Cut(interval, windows, outside);
  timeline.intervals = std::move(outside);
  const auto in_one = [&](Ns t) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const TimeSpan& window) { return t >= window.begin && t < window.end; });
  };
  KeepWaits([&](Ns t) { return !in_one(t); }, timeline.rank_wait, timeline.rank_wait_why);
  Drop(timeline.interruptions, [&](const Interruption& one) { return in_one(one.time); });
  timeline.checkpoints.EraseIf([&](const Checkpoint& one) { return in_one(one.begin); });
  Drop(timeline.signals.deliveries, [&](const SignalDelivery& one) { return in_one(one.t); });
  // Judged with the whole run, which shows how long a save takes.
  timeline.signals.summary = SummaryOf(timeline, timeline.signals.deliveries);
  timeline.signals.warnings = WarningsOf(timeline, timeline.signals.deliveries);
  MeasureStalls(timeline);
  timeline.steps.first_step_excess = 0;
  for (const Incarnation& incarnation : timeline.incarnations) {
    if (incarnation.first_step_begin && !in_one(*incarnation.first_step_begin))
      timeline.steps.first_step_excess += incarnation.first_step_excess;
  }
}

std::vector<TimeSpan> ExcludedSpans(const Timeline& timeline) {
  std::vector<TimeSpan> holes;
  Ns at = timeline.begin;
  for (const Interval& interval : timeline.intervals.others()) {
    if (interval.begin > at) holes.push_back({at, interval.begin});
    at = std::max(at, interval.end);
  }
  if (at < timeline.end) holes.push_back({at, timeline.end});
  return holes;
}

Ns Included(const Timeline& timeline, Ns from, Ns to) {
  Ns sum = 0;
  for (const Interval& interval : timeline.intervals.others())
    sum += std::max<Ns>(0, std::min(interval.end, to) - std::max(interval.begin, from));
  return sum;
}

}  // namespace goodput
