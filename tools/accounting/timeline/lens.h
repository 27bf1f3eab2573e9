// Goodput as NVIDIA Lens defines it (NVIDIA-NeMo/Lens, its reckoner), from our timeline:
//
//   TOTAL = all buckets, without the wait before the first start
//   GOOD  = kept steps x the duration of the run's best step (see pace.h)
//   app        = (productive - GOOD) + startup.compile + overhead
//   scheduling = hold + the waiting buckets + launch without step_setup + teardown of the allocation
//   runtime    = TOTAL - scheduling - GOOD - app
//   lens_scheduling = 1 - scheduling / TOTAL
//   lens_runtime    = 1 - runtime / (TOTAL - scheduling)
//   lens_app        = GOOD / (GOOD + app)
//   lens            = GOOD / TOTAL, the product of the three
//
// in GPU-seconds. Only whole steps count, a save counts when it is complete, a kept step counts once, and a
// run that ended well keeps its last steps; in these, Lens itself errs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/goodput.h"

namespace goodput {

// Absent if the timeline has no pace, or its time is only a wait.
std::optional<Lens> TakeLens(const Timeline& timeline, const std::vector<BucketTotal>& buckets,
                             const GpuWeights& weights);

// Sets the fractions named lens... and app_p05; without `allocation_known`, only `lens`.
void DefineLens(const Lens& lens, bool allocation_known, Definitions& definitions);

// Why lens differs from scheduling x runtime goodput (sg_rg), in one sentence with percentage points that add
// up; empty if either is absent or the difference is negligible.
std::string WhyLensDiffers(const Account& account);

// How productive time compares with the best step, in one line: "85.1% at the run's best step (0.300
// s), 10.2% slower steps, ..."; empty if less than this share of it is slower.
inline constexpr double kLeastSlower = 0.05;
std::string PaceInWords(const Account& account);

}  // namespace goodput
