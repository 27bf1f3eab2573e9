#include "tools/accounting/timeline/host_use.h"

#include <algorithm>

namespace goodput {
namespace {

// More than this is nobody's use.
constexpr std::int64_t kMostOfAll = std::int64_t{1} << 61;

void AddTo(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
  if (value) sum = std::min(kMostOfAll, sum.value_or(0) + std::min(*value, kMostOfAll));
}

bool RaiseTo(std::optional<std::int64_t>& most, const std::optional<std::int64_t>& value) {
  if (!value || *value <= most.value_or(-1)) return false;
  most = value;
  return true;
}

std::optional<std::int64_t> MemoryOfANode(const AttemptFacts& attempt) {
  if (attempt.memory_bytes.value_or(0) <= 0 || attempt.nodes <= 0) return std::nullopt;
  const double mean = *attempt.memory_bytes / attempt.nodes;
  return static_cast<std::int64_t>(std::min(mean, static_cast<double>(kMostOfAll)));
}

std::optional<double> CpuGivenS(const AttemptFacts& attempt, Ns now) {
  if (attempt.cpus.value_or(0) <= 0 || !attempt.start) return std::nullopt;
  return static_cast<double>(*attempt.cpus) *
         Seconds(std::max<Ns>(0, attempt.end.value_or(now) - *attempt.start));
}

void AddAttempt(const AttemptFacts& attempt, HostUseTotal& total) {
  constexpr double kMicroseconds = 1e6;
  const HostUse& use = attempt.host_use;
  total.measured += use.measured;
  if (use.cpu_us) total.cpu_s = total.cpu_s.value_or(0) + static_cast<double>(*use.cpu_us) / kMicroseconds;
  total.waited_only = total.waited_only || use.waited_only;
  const bool peak = RaiseTo(total.memory_peak, use.memory_peak);
  const bool largest = RaiseTo(total.largest_rss, use.largest_rss);
  if (peak || (largest && !total.memory_peak)) total.memory_given = MemoryOfANode(attempt);
  AddTo(total.read_bytes, use.read_bytes);
  AddTo(total.written_bytes, use.written_bytes);
}

}  // namespace

void AddUse(const HostUse& use, HostUse& total) {
  total.measured += use.measured;
  AddTo(total.cpu_us, use.cpu_us);
  total.waited_only = total.waited_only || (use.waited_only && use.cpu_us);
  RaiseTo(total.memory_peak, use.memory_peak);
  RaiseTo(total.largest_rss, use.largest_rss);
  AddTo(total.read_bytes, use.read_bytes);
  AddTo(total.written_bytes, use.written_bytes);
}

std::optional<HostUseTotal> SumHostUse(const RunFacts& facts) {
  HostUseTotal total;
  bool all_given = true;
  for (const AttemptFacts& attempt : facts.attempts) {
    total.steps += attempt.steps_on_nodes;
    if (attempt.host_use.measured == 0) continue;
    AddAttempt(attempt, total);
    const std::optional<double> given = CpuGivenS(attempt, facts.now);
    all_given = all_given && given;
    if (given) total.cpu_given_s = total.cpu_given_s.value_or(0) + *given;
  }
  if (total.measured == 0) return std::nullopt;
  if (!all_given) total.cpu_given_s.reset();
  return total;
}

}  // namespace goodput
