// Cuts a run's timeline into the rows that the fleet database keeps: one per attempt, UTC day, cause
// and lack of machines.
//
// Pure. The rows of a run add up to its report bucket by bucket, to the nanosecond, and so do the rows of any
// days to the report on these days (sgoodput report -T): every interval is in exactly one row, or cut at UTC
// midnights.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/rollup/stockout.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct AttemptDay {
  int attempt = -1;      // index into Timeline::attempts; -1: between attempts
  std::int64_t day = 0;  // UTC, days since 1970-01-01
  std::string cause;     // of the interruption to which the time was lost (InterruptionOf); empty: to none
  std::string stockout;  // the machines that the time was waited for (LackName); empty: for none
  std::array<Ns, kBucketCount> ns{};
  std::array<GpuNs, kBucketCount> gpu_ns{};  // zeros if the run has no GPUs
  // The part of `unobserved` in which even the allocation is unknown.
  Ns gap_ns = 0;
  GpuNs gap_gpu_ns = 0;
};

// By attempt, day, cause and stockout. `waits` are those of the timeline.
std::vector<AttemptDay> CutIntoDays(const Timeline& timeline, const std::vector<MachineWait>& waits);

}  // namespace goodput
