// What a step of a run is worth and what its GPUs could do, from what its jobs declared; or why that is not
// known.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/gpu_peaks.h"

namespace goodput {

// By --goodput-flops-per-step, --goodput-model and --goodput-precision of one job; empty: not said.
struct DeclaredFlops {
  std::optional<double> flops_per_step;
  std::string model;
  std::string precision;

  bool any() const { return flops_per_step || !model.empty() || !precision.empty(); }
};

struct ProgramFlops {
  double flops_per_step = 0;
  double peak_flops = 0;  // FLOP/s, one GPU
  std::string evidence;   // in words
};

// The jobs of one run must agree, and its GPUs have one peak. An error's message is the reason, for people.
absl::StatusOr<ProgramFlops> FlopsOfProgram(const std::vector<DeclaredFlops>& declared,
                                            const std::set<std::string>& gpu_types,
                                            const std::vector<GpuPeak>& more_peaks);

}  // namespace goodput
