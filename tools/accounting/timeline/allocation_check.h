// The proof that nothing of what was allocated is missing from the buckets: what the scheduler says of each
// attempt, end less start times its GPUs, is the sum of the buckets of allocated time.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// GPU-nanoseconds (nanoseconds where the run has no GPUs), exact.
struct AllocatedTime {
  // Of each attempt that started: from its start to its end (now, while it runs), times the GPUs it had.
  // sacct's Elapsed is this less `suspended`.
  GpuNs told = 0;
  // Of the buckets.
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
  // Of `told`, what lies outside the time that was asked for; without it the two agree.
  GpuNs outside = 0;
  bool agrees_within() const { return told - outside == counted(); }

  Evidence evidence = Evidence::kAccounting;  // the weakest of the attempts' bounds
  bool has_gpus = false;
};

AllocatedTime ReadAllocatedTime(const Timeline& timeline);

// "3840 GPU-s by sacct = 120 provisioning + 3720 up", or by how much the sides differ and why.
std::string InWords(const AllocatedTime& allocated);

}  // namespace goodput
