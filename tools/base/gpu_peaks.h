// How many floating-point operations a second a GPU can do at best, by its type and the precision of the
// work: what model FLOP utilisation is measured against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

// Dense, without the doubling that datasheets have for sparse matrices.
struct GpuPeak {
  std::string gpu_type;   // "h100", "h100-pcie"
  std::string precision;  // bf16 fp16 fp8 fp4 tf32 fp32 fp64 int8
  double tflops = 0;      // 1e12 operations a second, one GPU
};

// From the vendor's datasheets; see peaks.cc for which.
const std::vector<GpuPeak>& PublishedPeaks();

// "h100 bf16 989", as in goodput.conf. An error says what to write.
absl::StatusOr<GpuPeak> ParsePeak(std::string_view text);

// FLOP/s of one GPU whose type is as Slurm names it (h100, H100-80GB, nvidia_h100_80gb_hbm3). It is of an
// entry's type when it has all words of that, and besides only words that change no peak, such as the vendor,
// the memory or the socket; a slice of a GPU or another form factor (pcie, nvl) is not. The entry with most
// words decides, of equals one of `more`, the last. NotFound, as a sentence that says how to mend it, where
// none is.
absl::StatusOr<double> PeakFlops(const std::vector<GpuPeak>& more, std::string_view gpu_type,
                                 std::string_view precision);

}  // namespace goodput
