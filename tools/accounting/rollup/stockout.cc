#include "tools/accounting/rollup/stockout.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace goodput {
namespace {

// Attempts whose machines were refused and that never ran anything.
std::set<int> RefusedAttempts(const Timeline& timeline) {
  std::set<int> refused;
  for (std::size_t i = 0; i < timeline.attempts.size(); ++i) {
    if (!timeline.attempts[i].facts->lacks.empty()) refused.insert(static_cast<int>(i));
  }
  for (const Incarnation& incarnation : timeline.incarnations) {
    if (incarnation.first_step_begin || incarnation.exited) refused.erase(incarnation.attempt);
  }
  return refused;
}

bool IsUp(const Interval& interval) {
  const Side side = BucketSide(interval.bucket);
  return side != Side::kExcluded && side != Side::kScheduling;
}

bool Waits(const Interval& interval) {
  return BucketSide(interval.bucket) == Side::kScheduling && interval.bucket != Bucket::kSuspended;
}

}  // namespace

std::vector<MachineWait> MachineWaits(const Timeline& timeline) {
  const std::set<int> refused = RefusedAttempts(timeline);
  std::vector<MachineWait> waits;
  for (const int index : refused) {
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(index)].facts;
    if (!facts.start) continue;
    const Ns begin = facts.allocated.value_or(*facts.start);
    const auto up = std::find_if(
        timeline.intervals.begin(), timeline.intervals.end(),
        [&](const Interval& i) { return i.begin >= begin && IsUp(i) && refused.count(i.attempt) == 0; });
    MachineWait wait{begin, up == timeline.intervals.end() ? timeline.end : up->begin, facts.lacks};
    if (!waits.empty() && waits.back().end == wait.end) {
      std::move(wait.reports.begin(), wait.reports.end(), std::back_inserter(waits.back().reports));
    } else {
      waits.push_back(std::move(wait));
    }
  }
  for (MachineWait& wait : waits) {
    std::stable_sort(wait.reports.begin(), wait.reports.end(),
                     [](const MachineLack& a, const MachineLack& b) { return a.t < b.t; });
  }
  return waits;
}

const MachineLack* LackOf(const std::vector<MachineWait>& waits, const Interval& interval) {
  if (!Waits(interval)) return nullptr;
  for (const MachineWait& wait : waits) {
    if (interval.begin < wait.begin || interval.begin >= wait.end) continue;
    const auto later = std::upper_bound(wait.reports.begin(), wait.reports.end(), interval.end,
                                        [](Ns t, const MachineLack& lack) { return t < lack.t; });
    return later == wait.reports.begin() ? &*later : &*std::prev(later);
  }
  return nullptr;
}

const MachineLack* LackOf(const std::vector<MachineWait>& waits, const Interruption& interruption) {
  Interval at;
  at.begin = interruption.time;
  at.end = interruption.time;
  at.bucket = Bucket::kProvisioning;
  at.attempt = interruption.attempt;
  return LackOf(waits, at);
}

std::string LackName(const MachineLack& lack) {
  switch (lack.kind) {
    case MachineLack::Kind::kQuota:
      return "quota";
    case MachineLack::Kind::kReservation:
      return "reservation";
    case MachineLack::Kind::kError:
      return "error";
    case MachineLack::Kind::kStockout:
      break;
  }
  return lack.zone.empty() ? "unknown" : lack.zone;
}

}  // namespace goodput
