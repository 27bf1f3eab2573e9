#include "tools/accounting/report/gpu_hours.h"

#include "absl/strings/str_format.h"

namespace goodput {

double GpuHours(GpuNs gpu_ns) {
  // Whole seconds are converted separately: the total may exceed a double's precision.
  const GpuNs whole = gpu_ns / kSecond;
  return (static_cast<double>(whole) + static_cast<double>(gpu_ns % kSecond) / 1e9) / 3600;
}

std::string FormatGpuHours(GpuNs gpu_ns) {
  const double hours = GpuHours(gpu_ns);
  return absl::StrFormat("%.*f", hours < 99.95 ? 2 : 0, hours);
}

}  // namespace goodput
