// Peak FLOP/s of GPUs by type and precision: the reference for model FLOP utilisation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

// Dense, without the doubling that datasheets state for sparse matrices.
struct GpuPeak {
  std::string gpu_type;   // "h100", "h100-pcie"
  std::string precision;  // bf16 fp16 fp8 fp4 tf32 fp32 fp64 int8
  double tflops = 0;      // 1e12 operations per second, one GPU
};

// From the vendor's datasheets; see gpu_peaks.cc for sources.
const std::vector<GpuPeak>& PublishedPeaks();

// Parses "h100 bf16 989", as in goodput.conf. An error says what to write.
absl::StatusOr<GpuPeak> ParsePeak(std::string_view text);

// FLOP/s of one GPU, whose type is as Slurm names it (h100, H100-80GB, nvidia_h100_80gb_hbm3). An entry
// matches if the type has all words of the entry, and besides them only words that do not affect the peak,
// such as the vendor, memory or socket; a slice of a GPU or another form factor (pcie, nvl) does not match.
// The matching entry with most words wins; among equals, one of `more`, then the last. NotFound if none
// matches; the message says how to add one.
absl::StatusOr<double> PeakFlops(const std::vector<GpuPeak>& more, std::string_view gpu_type,
                                 std::string_view precision);

}  // namespace goodput
