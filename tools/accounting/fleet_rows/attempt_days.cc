#include "tools/accounting/fleet_rows/attempt_days.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tools/accounting/rollup/rollup.h"

namespace goodput {
namespace {

// attempt, day, cause, stockout
using Key = std::tuple<int, std::int64_t, std::string, std::string>;

void AddPart(const Interval& interval, Ns begin, Ns end, const GpuWeights& weights, AttemptDay& row) {
  const auto bucket = static_cast<std::size_t>(interval.bucket);
  row.ns[bucket] += end - begin;
  if (weights.has_gpus()) {
    for (const GpuWeights::Share& share : weights.Split(interval, begin, end))
      row.gpu_ns[static_cast<std::size_t>(share.bucket)] += share.gpu_ns;
  }
  if (interval.bucket != Bucket::kUnobserved || interval.part != "gap") return;
  row.gap_ns += end - begin;
  if (weights.has_gpus()) row.gap_gpu_ns += weights.Split(interval, begin, end).own().gpu_ns;
}

}  // namespace

std::vector<AttemptDay> CutIntoDays(const Timeline& timeline, const std::vector<MachineWait>& waits) {
  const GpuWeights weights(timeline);
  std::map<Key, AttemptDay> rows;
  for (const Interval& interval : timeline.intervals) {
    const Interruption* const lost_to = InterruptionOf(timeline, interval);
    const std::string cause = lost_to == nullptr ? "" : lost_to->cause;
    const MachineLack* const lack = LackOf(waits, interval);
    const std::string stockout = lack == nullptr ? "" : LackName(*lack);
    for (Ns begin = interval.begin; begin < interval.end;) {
      const std::int64_t day = UtcDay(begin);
      // The last day of the epoch has no next midnight.
      const Ns end =
          UtcDay(interval.end - 1) == day ? interval.end : std::min(interval.end, (day + 1) * kUtcDay);
      AttemptDay& row = rows[{interval.attempt, day, cause, stockout}];
      AddPart(interval, begin, end, weights, row);
      begin = end;
    }
  }
  std::vector<AttemptDay> days;
  days.reserve(rows.size());
  for (auto& [key, row] : rows) {
    std::tie(row.attempt, row.day, row.cause, row.stockout) = key;
    days.push_back(std::move(row));
  }
  return days;
}

}  // namespace goodput
