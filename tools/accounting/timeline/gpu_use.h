// What the GPUs of a run did in each bucket: how busy they were, how active their tensor cores, and what
// energy they took, where nodes measured it (docs/operators.md#what-goodputd-sees-on-a-node).
//
// A measurement is of half a minute: what it says is spread evenly over this time, so a change of buckets
// within it is not seen sharper. Time that no measurement covers is in no sum. A busy GPU need not make
// progress: it also is while it computes steps that are lost, or waits for another GPU in a collective.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/gpu_use_series.h"

namespace goodput {

struct Timeline;

struct GpuUse {
  std::array<GpuUseSum, kBucketCount> of{};  // by Bucket
  GpuUseSum total;                           // of all
  std::int64_t memory_mib = 0;               // the most that one GPU used; 0: unknown
  std::optional<std::int64_t> memory_of_mib;
  bool by_driver = false;  // see GpuUseSeries

  const GpuUseSum& Of(Bucket bucket) const { return of.at(static_cast<std::size_t>(bucket)); }
};

// Over the intervals of the timeline. Absent: nothing was measured.
std::optional<GpuUse> SumGpuUse(const Timeline& timeline);

// A share 0..1; absent if it was measured for no time.
std::optional<double> BusyShare(const GpuUseSum& sum);
std::optional<double> TensorShare(const GpuUseSum& sum);
// In joules; absent if it was measured for no time.
std::optional<double> EnergyJ(const GpuUseSum& sum);

// The energy of a kept step, in joules: the mean power in the measured part of productive time, times the
// productive GPU time of a step. Absent if less than kEnoughMeasured of the productive time was measured.
inline constexpr double kEnoughMeasured = 0.9;
std::optional<double> EnergyOfKeptStepJ(const GpuUse& use, GpuNs productive, std::int64_t kept_steps);

}  // namespace goodput
