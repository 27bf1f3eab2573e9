// Reads what dcgm-exporter answers: Prometheus' text format, a line for each metric of each GPU. Pure.
//
//   DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-604a...",pci_bus_id="00000000:17:00.0",device="nvidia0",
//     modelName="NVIDIA H100 80GB HBM3",Hostname="n1",hpc_job="1234"} 97
//
// The metrics that are used
// (https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html):
//
//   - DCGM_FI_PROF_GR_ENGINE_ACTIVE: share of time in which a kernel ran, 0..1, a mean since the last update;
//   - DCGM_FI_DEV_GPU_UTIL: the same as the driver says it, of its last second at most, 0..100;
//   - DCGM_FI_PROF_PIPE_TENSOR_ACTIVE: share of cycles in which a tensor core was active, 0..1, likewise;
//   - DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: since the driver was loaded, mJ;
//   - DCGM_FI_DEV_FB_USED, _FREE, _RESERVED: memory, MiB.
//
// Numbers that mean "not known" (DCGM's are above 2^47) and shares that are none are absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

struct GpuReading {
  std::string uuid;  // of the GPU; it has one line of each metric for each job if jobs are mapped
  std::optional<std::int64_t> index;  // label `gpu`: DCGM's number of it
  bool partitioned = false;           // it has MIG instances, which have lines of their own
  // Ids of jobs that share it, label `hpc_job`; a label that is no number names no job of ours.
  std::vector<std::int64_t> jobs;
  std::optional<double> engine;  // 0..1
  std::optional<double> util;    // 0..1
  std::optional<double> tensor;  // 0..1
  std::optional<std::int64_t> energy_mj;
  std::optional<std::int64_t> memory_used_mib;
  std::optional<std::int64_t> memory_free_mib;
  std::optional<std::int64_t> memory_reserved_mib;
};

struct ExporterReading {
  std::vector<GpuReading> gpus;  // in the order of the text
  bool maps_jobs = false;        // some line has a label `hpc_job`
};

inline constexpr std::size_t kMostGpus = 256;  // of an exporter

// An error names the line. Lines of other metrics are not looked at.
absl::StatusOr<ExporterReading> ParseExporterText(std::string_view text);

}  // namespace goodput
