#include "tools/accounting/timeline/clip.h"

#include <algorithm>
#include <utility>

#include "tools/accounting/timeline/signal_summary.h"
#include "tools/accounting/timeline/stalls.h"

namespace goodput {

void ClipTimeline(Timeline& timeline, Ns begin, Ns end) {
  if (timeline.end > end) timeline.running = false;
  if (timeline.begin < begin || timeline.end > end) {
    timeline.pace.reset();
    KeepWaits([&](Ns t) { return t >= begin && t < end; }, timeline.rank_wait, timeline.rank_wait_why);
  }
  timeline.begin = std::min(std::max(timeline.begin, begin), end);
  timeline.end = std::max(std::min(timeline.end, end), timeline.begin);
  timeline.intervals.Clip(timeline.begin, timeline.end);
  const auto outside = [&](Ns t) { return t < timeline.begin || t >= timeline.end; };
  timeline.interruptions.erase(std::remove_if(timeline.interruptions.begin(), timeline.interruptions.end(),
                                              [&](const Interruption& i) { return outside(i.time); }),
                               timeline.interruptions.end());
  std::vector<SignalDelivery>& signals = timeline.signals.deliveries;
  signals.erase(std::remove_if(signals.begin(), signals.end(),
                               [&](const SignalDelivery& delivery) { return outside(delivery.t); }),
                signals.end());
  // Judged with the whole run, which shows how long a save takes.
  timeline.signals.summary = SummaryOf(timeline, signals);
  timeline.signals.warnings = WarningsOf(timeline, signals);
  timeline.checkpoints.EraseIf([&](const Checkpoint& c) { return outside(c.begin); });
  MeasureStalls(timeline);
  timeline.steps.first_step_excess = 0;
  for (const Incarnation& incarnation : timeline.incarnations) {
    if (incarnation.first_step_begin && !outside(*incarnation.first_step_begin))
      timeline.steps.first_step_excess += incarnation.first_step_excess;
  }
}

}  // namespace goodput
