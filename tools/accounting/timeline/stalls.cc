#include "tools/accounting/timeline/stalls.h"

#include <algorithm>
#include <tuple>

namespace goodput {

void MeasureStalls(Timeline& timeline) {
  std::vector<Stall>& stalls = timeline.stalls;
  for (Stall& stall : stalls) stall.ns = 0;
  if (stalls.empty()) return;
  std::sort(stalls.begin(), stalls.end(), [](const Stall& a, const Stall& b) {
    return std::tie(a.begin, a.end, a.attempt, a.step) < std::tie(b.begin, b.end, b.attempt, b.step);
  });
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket != Bucket::kStall) continue;
    // The record at an interval's begin tells to which step it belongs.
    auto stall = std::upper_bound(stalls.begin(), stalls.end(), interval.begin,
                                  [](Ns begin, const Stall& one) { return begin < one.begin; });
    while (stall != stalls.begin()) {
      --stall;
      if (stall->attempt != interval.attempt || stall->end < interval.end) continue;
      if (stall->ref.source != interval.from.source || stall->ref.offset != interval.from.offset) continue;
      stall->ns += interval.end - interval.begin;
      break;
    }
  }
  stalls.erase(std::remove_if(stalls.begin(), stalls.end(), [](const Stall& stall) { return stall.ns == 0; }),
               stalls.end());
}

}  // namespace goodput
