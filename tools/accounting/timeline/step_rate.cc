#include "tools/accounting/timeline/step_rate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace goodput {
namespace {

// Rates as close as this count as equal.
constexpr double kSame = 0.005;

struct Rates {
  double median = 0;
  std::int64_t alike = 0;  // number of rates close to the median
};

Rates Judge(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  Rates judged;
  judged.median = rates[(rates.size() - 1) / 2];
  judged.alike = std::count_if(rates.begin(), rates.end(), [&](double rate) {
    return std::abs(rate - judged.median) <= kSame * judged.median;
  });
  return judged;
}

}  // namespace

std::optional<StepRate> FindStepRate(const std::vector<SaveInterval>& intervals) {
  std::vector<double> blocking;
  std::vector<double> free;
  for (const SaveInterval& interval : intervals) {
    if (interval.steps <= 0 || interval.ns <= 0) continue;
    const auto steps = static_cast<double>(interval.steps);
    const Ns save = std::clamp<Ns>(interval.save, 0, interval.ns);
    blocking.push_back(static_cast<double>(interval.ns - save) / steps);
    free.push_back(static_cast<double>(interval.ns) / steps);
  }
  if (blocking.empty()) return std::nullopt;
  const auto most = static_cast<std::int64_t>(blocking.size() / 2 + 1);
  const Rates if_blocking = Judge(std::move(blocking));
  const Rates if_free = Judge(std::move(free));
  StepRate rate;
  rate.fastest = static_cast<Ns>(if_blocking.median);
  rate.slowest = static_cast<Ns>(if_free.median);
  if (if_blocking.alike >= 2 && if_blocking.alike >= most && if_blocking.alike > if_free.alike) {
    rate.saves_block = true;
    rate.slowest = rate.fastest;
  } else if (if_free.alike >= 2 && if_free.alike >= most && if_free.alike > if_blocking.alike) {
    rate.saves_block = false;
    rate.fastest = rate.slowest;
  }
  if (rate.fastest <= 0) return std::nullopt;
  return rate;
}

}  // namespace goodput
