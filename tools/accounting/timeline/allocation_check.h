// Proves that the buckets account for all allocated time: for each attempt, the scheduler's end minus start
// times its GPUs equals the sum of its buckets of allocated time.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// GPU-nanoseconds (nanoseconds if the run has no GPUs), exact.
struct AllocatedTime {
  // For each attempt that started: from its start to its end (now, if it runs), times its GPUs. sacct's
  // Elapsed is this minus `suspended`.
  GpuNs told = 0;
  // From the buckets.
  GpuNs provisioning = 0;
  GpuNs suspended = 0;
  GpuNs up = 0;  // all buckets whose resources were up
  GpuNs counted() const { return provisioning + suspended + up; }

  // told + all of these = counted.
  struct Difference {
    GpuNs gpu_ns = 0;
    std::string why;
  };
  std::vector<Difference> differences;
  bool agrees() const { return told == counted(); }
  // The part of `told` outside the selected time; without it, the two agree.
  GpuNs outside = 0;
  bool agrees_within() const { return told - outside == counted(); }

  Evidence evidence = Evidence::kAccounting;  // the weakest of the attempts' bounds
  bool has_gpus = false;
};

AllocatedTime ReadAllocatedTime(const Timeline& timeline);

// "3840 GPU-s according to sacct = 120 provisioning + 3720 up", or by how much the sides differ and why.
std::string InWords(const AllocatedTime& allocated);

}  // namespace goodput
