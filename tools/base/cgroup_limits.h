// How many tasks and how much memory the control groups of this process allow it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput {

// Absent: no limit, or none that can be read.
struct CgroupLimits {
  std::optional<std::int64_t> tasks;         // pids.max: processes and threads
  std::optional<std::int64_t> memory_bytes;  // the lower one of memory.high and memory.max
};

// The strictest limits of the process's control group and of those above it, in either version of cgroups.
CgroupLimits ReadCgroupLimits(const std::string& self = "/proc/self/cgroup",
                              const std::string& mount = "/sys/fs/cgroup");

}  // namespace goodput
