// What a step used on this node, as the kernel counts it: of its control group in version 2 of cgroups, while
// that exists; and, of any Slurm, of the processes that slurmstepd has waited for. Bounded reads of a few
// small files; nothing is allocated.
#pragma once

#include <cstdint>
#include <optional>

#include "spank/event.h"
#include "spank/files.h"

namespace goodput {

// Absent: not known.
struct StepUse {
  std::optional<int64_t> cpu_us;         // processor time, user and system
  std::optional<int64_t> memory_peak;    // bytes, all of its processes and their files in the page cache
  std::optional<int64_t> read_bytes;     // from block devices
  std::optional<int64_t> written_bytes;  // to block devices
  // The same of the processes that slurmstepd, and processes below it, have waited for. The memory is that of
  // the largest process.
  std::optional<int64_t> waited_cpu_us;
  std::optional<int64_t> waited_rss;
};

// For the step whose slurmstepd calls it. Slurm 22.05 and newer put slurmstepd into STEP/slurm and its tasks
// below STEP/user, which is there until slurmstepd ends; `self` and `mount` name the kernel's files.
StepUse ReadStepUse(Files& files, const char* self = "/proc/self/cgroup",
                    const char* mount = "/sys/fs/cgroup") noexcept;

void AddStepUse(const StepUse& use, RecordBuilder* record) noexcept;

}  // namespace goodput
