// The FLOPs per step of a run and the peak of its GPUs, from what its jobs declared, or the reason why they
// are unknown.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/gpu_peaks.h"

namespace goodput {

// Declared with --goodput-flops-per-step, --goodput-model and --goodput-precision of one job; empty: not
// given.
struct DeclaredFlops {
  std::optional<double> flops_per_step;
  std::string model;
  std::string precision;

  bool any() const { return flops_per_step || !model.empty() || !precision.empty(); }
};

struct ProgramFlops {
  double flops_per_step = 0;
  double peak_flops = 0;  // FLOP/s, one GPU
  // Of the declared model; absent: the FLOPs were declared without one, or models differ in it.
  std::optional<double> tokens_per_step;
  std::string evidence;  // in words
};

// The jobs of a run must agree, and its GPUs must have the same peak. The message of an error is the reason,
// for reports.
absl::StatusOr<ProgramFlops> FlopsOfProgram(const std::vector<DeclaredFlops>& declared,
                                            const std::set<std::string>& gpu_types,
                                            const std::vector<GpuPeak>& more_peaks);

}  // namespace goodput
