// Formats GPU time as GPU-hours.
#pragma once

#include <string>

#include "tools/accounting/timeline/goodput.h"

namespace goodput {

double GpuHours(GpuNs gpu_ns);
std::string FormatGpuHours(GpuNs gpu_ns);  // 1.25  123

}  // namespace goodput
