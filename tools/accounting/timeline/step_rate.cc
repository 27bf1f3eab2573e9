#include "tools/accounting/timeline/step_rate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace goodput {
namespace {

// Rates as close as this count as equal.
constexpr double kSame = 0.005;

// One interval's time per step and save time per step.
struct PerStep {
  double free = 0;  // if training did not wait for the save
  double save = 0;
  double blocking() const { return free - save; }
};

// What one assumption says.
struct Judgement {
  double median = 0;
  std::int64_t alike = 0;  // number of rates close to the median
  // Whether the saves of those differ by more than close rates may: only then do the same intervals
  // contradict the other assumption.
  bool tells = false;
};

template <typename RateOf>
Judgement Judge(const std::vector<PerStep>& intervals, RateOf rate_of) {
  std::vector<double> rates;
  rates.reserve(intervals.size());
  for (const PerStep& one : intervals) rates.push_back(rate_of(one));
  std::sort(rates.begin(), rates.end());
  Judgement judged;
  judged.median = rates[(rates.size() - 1) / 2];
  const double close = kSame * judged.median;
  double least = 0;
  double most = 0;
  for (const PerStep& one : intervals) {
    if (std::abs(rate_of(one) - judged.median) > close) continue;
    least = judged.alike == 0 ? one.save : std::min(least, one.save);
    most = judged.alike == 0 ? one.save : std::max(most, one.save);
    ++judged.alike;
  }
  judged.tells = most - least > 2 * close;
  return judged;
}

bool Holds(const Judgement& one, const Judgement& other, std::size_t intervals) {
  return one.tells && 2 * one.alike > static_cast<std::int64_t>(intervals) && one.alike > other.alike;
}

}  // namespace

std::optional<StepRate> FindStepRate(const std::vector<SaveInterval>& intervals) {
  std::vector<PerStep> per_step;
  for (const SaveInterval& interval : intervals) {
    if (interval.steps <= 0 || interval.ns <= 0) continue;
    const auto steps = static_cast<double>(interval.steps);
    const Ns save = std::clamp<Ns>(interval.save, 0, interval.ns);
    per_step.push_back({static_cast<double>(interval.ns) / steps, static_cast<double>(save) / steps});
  }
  if (per_step.empty()) return std::nullopt;
  const Judgement blocking = Judge(per_step, [](const PerStep& one) { return one.blocking(); });
  const Judgement free = Judge(per_step, [](const PerStep& one) { return one.free; });
  StepRate rate;
  rate.fastest = static_cast<Ns>(blocking.median);
  rate.slowest = static_cast<Ns>(free.median);
  if (Holds(blocking, free, per_step.size())) {
    rate.saves_block = true;
    rate.slowest = rate.fastest;
  } else if (Holds(free, blocking, per_step.size())) {
    rate.saves_block = false;
    rate.fastest = rate.slowest;
  }
  if (rate.fastest <= 0) return std::nullopt;
  return rate;
}

}  // namespace goodput
