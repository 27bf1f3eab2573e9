#include "tools/accounting/timeline/sensitivity.h"

#include <cstddef>
#include <utility>

namespace goodput {
namespace {

SensitivityRow Count(std::string name, std::string label, const Timeline& timeline) {
  const Account account = TakeAccount(timeline);
  const auto ns = [&](Bucket bucket) { return account.buckets[static_cast<std::size_t>(bucket)].ns; };
  return {std::move(name),     std::move(label),   account.goodput,
          timeline.steps.kept, ns(Bucket::kStall), ns(Bucket::kLostWork)};
}

// Moves everything in one bucket, which is not that of saves, to another. Unobserved time in which even the
// allocation is unknown stays.
Timeline Recast(Timeline timeline, Bucket from, Bucket to) {
  for (Interval& interval : timeline.intervals.others()) {
    if (interval.bucket != from || interval.part == "gap") continue;
    interval.bucket = to;
    interval.part.clear();
  }
  return timeline;
}

}  // namespace

std::vector<SensitivityRow> FindSensitivity(const RunFacts& facts, const TimelineOptions& options) {
  const Timeline as_is = BuildTimeline(facts, options);
  std::vector<SensitivityRow> rows;
  rows.push_back(Count("as_is", "as measured", as_is));
  for (const int factor : {3, 10}) {
    TimelineOptions other = options;
    other.stall_factor = factor;
    rows.push_back(Count("stall_factor_" + std::to_string(factor), "stall factor " + std::to_string(factor),
                         BuildTimeline(facts, other)));
  }
  rows.push_back(Count("overhead_productive", "overhead is progress",
                       Recast(as_is, Bucket::kOverhead, Bucket::kProductive)));
  Timeline nothing_at_risk = Recast(as_is, Bucket::kAtRisk, Bucket::kLostWork);
  nothing_at_risk.steps.lost += nothing_at_risk.steps.at_risk;
  nothing_at_risk.steps.at_risk = 0;
  rows.push_back(Count("at_risk_lost", "at risk is lost", nothing_at_risk));
  rows.push_back(Count("unobserved_productive", "unobserved was progress",
                       Recast(as_is, Bucket::kUnobserved, Bucket::kProductive)));
  rows.push_back(
      Count("unobserved_lost", "unobserved was lost", Recast(as_is, Bucket::kUnobserved, Bucket::kLostWork)));
  return rows;
}

}  // namespace goodput
