// The node daemon's thread that asks dcgm-exporter on this machine what the GPUs do, and records it for the
// jobs that have them (docs/operators.md#what-goodputd-sees-on-a-node).
#pragma once

#include <string>

#include "tools/goodputd/node_context.h"

namespace goodput {

// In the spool, for `sgoodput doctor`.
inline constexpr const char* kGpuUseCountsFile = "/gpu_use";

// Returns when `stop_fd` becomes readable; at once where it is not wanted. `driver_gpus` as in
// GpuNumbersAgree.
void RunGpuUseLoop(const NodeContext& node, const std::string& driver_gpus);
void RunGpuUseLoop(const NodeContext& node);

}  // namespace goodput
