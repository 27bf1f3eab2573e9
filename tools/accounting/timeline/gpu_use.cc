#include "tools/accounting/timeline/gpu_use.h"

#include <algorithm>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {
namespace {

std::optional<double> ShareOfTime(GpuNs part, GpuNs of) {
  if (of <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

std::optional<GpuUse> SumGpuUse(const Timeline& timeline) {
  GpuUse use;
  bool any = false;
  for (const AttemptSummary& attempt : timeline.attempts) {
    const GpuUseSeries& series = attempt.facts->gpu_use;
    if (series.empty()) continue;
    any = true;
    use.by_driver = use.by_driver || series.by_driver();
    if (series.memory_mib() <= use.memory_mib) continue;
    use.memory_mib = series.memory_mib();
    use.memory_of_mib = series.memory_of_mib();
  }
  if (!any) return std::nullopt;
  for (const Interval& interval : timeline.intervals) {
    if (interval.attempt < 0) continue;
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts;
    use.of.at(static_cast<std::size_t>(interval.bucket)).Add(facts.gpu_use.Sum(interval.begin, interval.end));
  }
  for (const GpuUseSum& sum : use.of) use.total.Add(sum);
  return use;
}

std::optional<double> BusyShare(const GpuUseSum& sum) {
  return ShareOfTime(sum.busy, sum.busy_of);
}

std::optional<double> TensorShare(const GpuUseSum& sum) {
  return ShareOfTime(sum.tensor, sum.tensor_of);
}

std::optional<double> EnergyJ(const GpuUseSum& sum) {
  constexpr double kMillijoules = 1000;
  if (sum.energy_of <= 0) return std::nullopt;
  return static_cast<double>(sum.energy_mj) / kMillijoules;
}

std::optional<double> EnergyOfKeptStepJ(const GpuUse& use, GpuNs productive, std::int64_t kept_steps) {
  const GpuUseSum& sum = use.Of(Bucket::kProductive);
  const std::optional<double> energy = EnergyJ(sum);
  const std::optional<double> measured = ShareOfTime(sum.energy_of, productive);
  if (!energy || !measured || *measured < kEnoughMeasured || kept_steps <= 0) return std::nullopt;
  return *energy / *measured / static_cast<double>(kept_steps);
}

}  // namespace goodput
