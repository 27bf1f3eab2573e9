// What the GPUs of a run did (see timeline/gpu_use.h), in words.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/report/report.h"

namespace goodput {

// Label and text of each row, e.g. {"busy", "91.2% of the time, 97.0% of productive time"}; empty: nothing
// was measured.
std::vector<std::pair<std::string, std::string>> GpuUseInWords(const Report& report);

// The energy of a kept step of the whole run (see EnergyOfKeptStepJ); absent for a part of a run, too.
std::optional<double> EnergyOfKeptStepJ(const Report& report);

// The share of the GPU time between the begin of allocations and their end that was measured, 0..1.
double MeasuredShare(const Report& report);

// "850 J", "1.31 kJ", and from 1 MJ on in watt hours: "12.3 kWh".
std::string FormatEnergy(double joules);

}  // namespace goodput
