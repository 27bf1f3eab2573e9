// Which job on the node has which GPU of an exporter. Pure, but for the driver's numbers.
//
// The first that is known counts:
//   1. the exporter maps GPUs to jobs (label hpc_job, dcgm-exporter --hpc-job-mapping-dir): then its word;
//   2. one job has as many GPUs of the node as the exporter has, and no other job has any: all of them;
//   3. Slurm's numbers of the job's GPUs, if the driver's minor numbers and the PCI addresses have the same
//      order. Slurm numbers GPUs by one or the other, depending on gres.conf, DCGM by PCI address.
// A GPU that two jobs share, and one with MIG instances, is nobody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/goodputd/gpu_use/exporter_text.h"

namespace goodput {

// What is known of a job on the node.
struct GpuClaim {
  std::int64_t job = 0;
  std::optional<std::int64_t> gpus;  // absent: unknown, or none
  std::string gpu_ids;               // "0-3,6"; empty: unknown
};

// By GPU of the reading: the index of the claim whose job has it; kNobody: none, or it is not known.
inline constexpr int kNobody = -1;
std::vector<int> OwnersOfGpus(const ExporterReading& reading, const std::vector<GpuClaim>& claims,
                              bool numbers_agree);

// "0-3,6" -> 0 1 2 3 6; empty if it is no such list, or has more than kMostGpus.
std::vector<std::int64_t> ParseGpuIds(std::string_view ids);

// Whether the minor numbers of all GPUs are 0, 1, 2 ... in the order of their PCI addresses. `folder` is the
// driver's, with a folder for each GPU, named by its address, that has a file `information`.
inline constexpr const char* kDriverGpus = "/proc/driver/nvidia/gpus";
bool GpuNumbersAgree(const std::string& folder = kDriverGpus);

}  // namespace goodput
