// What the steps of a run used of its nodes' processors, memory and disks, against what the job was given:
// the figures that the kernel has when a step ends (SPOOL_FORMAT.md, step_end), added up over nodes and
// attempts. A step that did not end on a node, because the node died or the step runs, is not in them.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct HostUseTotal {
  std::int64_t steps = 0;     // that began on a node: a step on four nodes counts four times
  std::int64_t measured = 0;  // of these
  std::optional<double> cpu_s;
  bool waited_only = false;  // of a part, only the processes that were waited for are known
  // Processors times seconds that the attempts with measured steps were given; absent: not known of one.
  std::optional<double> cpu_given_s;
  std::optional<std::int64_t> memory_peak;  // bytes: the most of one step on one node, with its page cache
  std::optional<std::int64_t> largest_rss;  // bytes of the largest process
  // Bytes that the attempt with the peak (or else with the largest process) was given on a node: the mean.
  std::optional<std::int64_t> memory_given;
  std::optional<std::int64_t> read_bytes;
  std::optional<std::int64_t> written_bytes;
};

// Adds what one or several steps used: sums, and the most of a step.
void AddUse(const HostUse& use, HostUse& total);

// Absent: nothing was measured.
std::optional<HostUseTotal> SumHostUse(const RunFacts& facts);

}  // namespace goodput
